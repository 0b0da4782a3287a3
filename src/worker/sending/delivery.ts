import { type Account, isThrottled, type Permit } from '../../accounts/account.ts'
import { classifyContained } from '../../accounts/classify-contained.ts'
import { backOffMs } from '../../back-off.ts'
import type { Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { type Classified, type ItemAnswer, isMisplaced, type UnknownCause } from '../../gateway/classify.ts'
import { type Connection, envelopeBody } from '../../gateway/connection.ts'
import { Echo } from '../../protocol/echo.ts'
import type { ResultDetails } from '../../records/result.ts'
import { reportFault } from '../../telemetry/contain.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { envelopeSpan, recordedTraceId, type TraceContext } from '../../telemetry/trace.ts'
import type { ErrorCode } from '../../vocabulary/lists.ts'
import { conclude, type Posted, provedForAnother } from '../conclude.ts'
import { type ExpiryRules, expiry, hasPaused, isOvertaken, noteRefusal, type Pending } from '../pending.ts'
import type { Requeue } from '../queues/lane.ts'
import { ResultCounts } from '../result-counts.ts'
import type { Settler } from '../settler.ts'

/** Commands of one account and one lane that share a request, until their results are committed. */
export interface Envelope {
  /** Of its lane; 0 for the most urgent topic. */
  urgency: number
  account: Account
  pendings: Pending[]
  /** Number of commands, including those that have expired since. */
  size: number
  /** The commands' offsets by session. */
  parts: ReadonlyMap<Session, readonly number[]>
  permit: Permit
  /** How to requeue its commands if it is not sent. */
  unsent: Requeue
}

/** First and longest back-off of a throttled command. */
const throttledMs = 1_000
const longestThrottledMs = 30_000

export interface DeliveryOptions extends ExpiryRules {
  connection: Connection
  settler: Settler
  hasLease: () => boolean
  errorTexts: Readonly<Record<string, ErrorCode>>
  clock: Clock
  telemetry: Telemetry
  /** Requeues commands that were not sent. */
  putBack: (pendings: readonly Pending[], how: Requeue) => void
}

/** The steps of an envelope: intents, POST, answer and results; or its return to the queue. */
export class Delivery {
  readonly #options: DeliveryOptions

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /**
   * Commits the intents. All sessions are called in one tick, so that one commit holds the whole envelope.
   * @returns false if a session was lost, or is held during a rebalance
   */
  async intend({ parts }: Envelope): Promise<boolean> {
    const committed = await Promise.all(Array.from(parts, ([session, offsets]) => session.intend(offsets)))
    return committed.every(Boolean)
  }

  /**
   * POSTs the envelope if it may still be sent. Resolves when its outcomes are handed to its sessions. The boundary around an
   * envelope: an error of ours is the outcome of its commands alone.
   */
  async send(envelope: Envelope): Promise<ResultCounts> {
    const counts = new ResultCounts()
    try {
      await this.#send(envelope, counts)
    } catch (error) {
      reportFault(this.#options.telemetry, 'answer', null, error)
      this.#abandon(envelope, counts)
    }
    return counts
  }

  /** After an error of ours: commands whose POST may have begun are in doubt; among the others it looks for the one to blame. */
  #abandon({ account, permit, pendings }: Envelope, counts: ResultCounts): void {
    const { settler, clock } = this.#options
    const left = pendings.filter(({ over }) => !over)
    account.answered(permit)
    account.returnPermit(permit)
    if (permit.begunAt !== null) {
      for (const pending of left) settler.doubt(pending, clock.now(), 'foreign_body', counts)
      return
    }
    if (left.length > 1) this.#release(left, 'halved', counts)
    else for (const pending of left) settler.settle(pending, failed(pending), counts)
  }

  async #send(envelope: Envelope, counts: ResultCounts): Promise<void> {
    const { account, pendings, permit } = envelope
    const [first] = pendings
    const unread = first ? await unreadOf(pendings) : null
    if (!unread || unread.size > 0) {
      account.returnPermit(permit)
      if (unread) this.#holdBack(envelope, unread, counts)
      return
    }
    // not for a probe: what passed since its last refusal may have passed before the pause
    const haveOthersPassed = !permit.probe && first?.refusal !== undefined && isOvertaken(first.refusal, account)
    const { connection, clock, errorTexts, telemetry } = this.#options
    const operations = pendings.map(({ command }) => command.json)
    const traces = tracesOf(pendings)
    const span = envelopeSpan(account.name, pendings.length, traces)
    let sentAt = clock.now()
    let begunAt = clock.monotonic()
    const body = envelopeBody(permit.apiKey, operations)
    const answer = await connection.post(body, () => {
      const reason = this.#lastCheck(envelope)
      if (reason !== null) return reason
      sentAt = clock.now()
      begunAt = clock.monotonic()
      account.begun(permit)
      return null
    })
    const ids = pendings.map(({ command }) => command.idText)
    const told = classifyContained(telemetry, ids, answer, errorTexts)
    if (isMisplaced(told)) connection.distrust()
    const classified = this.#learn(envelope, told, haveOthersPassed)
    const { outcome } = classified
    span.end(outcome)
    telemetry.emit('envelope.finished', {
      account: account.name,
      outcome,
      operations: pendings.length,
      seconds: (clock.monotonic() - begunAt) / 1000,
      traceId: recordedTraceId(traces),
    })
    this.#apply(envelope, classified, { sentAt, echo: Echo.of(body) }, counts)
  }

  /** Resolves when the outcomes, or the released intents, are committed. */
  async committed({ parts }: Envelope, counts: ResultCounts): Promise<void> {
    await Promise.all(Array.from(parts.keys(), session => session.committed()))
    counts.announce(this.#options.telemetry)
  }

  /**
   * Takes back an envelope that is not sent: releases its intents and requeues its commands. Resolves when that is committed.
   */
  async takeBack(envelope: Envelope): Promise<void> {
    const { account, permit, pendings } = envelope
    const counts = new ResultCounts()
    account.returnPermit(permit)
    this.#release(pendings, envelope.unsent, counts)
    await this.committed(envelope, counts)
  }

  /**
   * Reports the outcome to the account. @returns the outcome; an unknown refusal becomes known if the only command is to blame
   * for it
   */
  #learn({ account, permit, pendings }: Envelope, classified: Classified, haveOthersPassed: boolean): Classified {
    const now = this.#options.clock.monotonic()
    const isUnknown = classified.outcome === 'refused' && !classified.known
    if (isUnknown && noteRefusal(pendings, classified.error, haveOthersPassed, now)) {
      account.answered(permit)
      return { ...classified, known: true }
    }
    account.observe(permit, classified, throttledAgain(pendings, classified))
    return classified
  }

  /** Checks right before the first byte everything that may have changed since the intent. @returns why not to send, or null */
  #lastCheck({ account, permit, parts, pendings }: Envelope): string | null {
    const { clock, hasLease, controls } = this.#options
    for (const session of parts.keys()) if (!session.alive) return 'a partition was lost'
    if (!hasLease()) return 'the lease on the partition is over'
    const now = clock.now()
    if (pendings.some(isBehind)) return 'callbacks may not have been read'
    if (!account.admits(permit)) return 'the account is held back'
    if (hasPaused(pendings, controls)) return 'it is paused'
    if (pendings.some(({ proof }) => proof)) return 'a callback proved that a command was sent before'
    return pendings.some(pending => expiry(pending, now, this.#options)) ? 'a command expired or was withdrawn' : null
  }

  /** Requeues an envelope. Commands whose callbacks cannot be read now wait until they can; the others go to the front. */
  #holdBack({ pendings }: Envelope, unread: ReadonlySet<Pending>, counts: ResultCounts): void {
    const others = pendings.filter(pending => pending.proof || !unread.has(pending))
    if (others.length > 0) this.#release(others, 'first', counts)
    for (const pending of unread) {
      if (pending.proof) continue
      pending.session.release(pending.offset)
      pending.packed = false
      pending.callbackWatch?.requeueWhenCaughtUp()
    }
  }

  #apply(envelope: Envelope, classified: Classified, posted: Posted, counts: ResultCounts): void {
    const { pendings } = envelope
    if (classified.outcome === 'answered' || classified.outcome === 'unknown') {
      this.#settleAll(envelope, classified, posted, counts)
    } else if (classified.outcome === 'refused' && !classified.known) {
      this.#release(pendings, pendings.length === 1 ? 'later' : 'halved', counts)
    } else if (classified.outcome === 'refused' && pendings.length === 1) {
      this.#settle(pendings[0]!, { kind: 'refused', ...classified }, posted, null, counts)
    } else {
      // not an attempt: no command was sent
      this.#release(pendings, classified.outcome === 'refused' ? 'halved' : envelope.unsent, counts)
    }
  }

  #settleAll(
    { pendings }: Envelope,
    classified: Classified & { items: ItemAnswer[] },
    posted: Posted,
    counts: ResultCounts,
  ): void {
    const cause = classified.outcome === 'unknown' ? classified.cause : null
    const again = pendings.filter((pending, i) => !this.#settle(pending, classified.items[i]!, posted, cause, counts))
    if (again.length > 0) this.#throttled(again, counts)
  }

  /** Throttled commands back off one by one, since they may be the cause. */
  #throttled(pendings: readonly Pending[], counts: ResultCounts): void {
    const now = this.#options.clock.monotonic()
    for (const pending of pendings) {
      pending.throttled = (pending.throttled ?? 0) + 1
      pending.readyAt = now + backOffMs(throttledMs, longestThrottledMs, pending.throttled)
    }
    this.#release(pendings, 'later', counts)
  }

  /**
   * The boundary around one item of an answer: an error of ours leaves its command in doubt.
   * @returns false if the command was not sent and must be requeued
   */
  #settle(
    pending: Pending,
    answer: ItemAnswer,
    posted: Posted,
    cause: UnknownCause | null,
    counts: ResultCounts,
  ): boolean {
    try {
      return this.#conclude(pending, answer, posted, cause, counts)
    } catch (error) {
      const { topic, partition, record, over } = pending
      const { settler, telemetry } = this.#options
      reportFault(telemetry, 'answer', { topic, partition, offset: record.offset }, error)
      if (!over) settler.doubt(pending, posted.sentAt, cause ?? 'foreign_body', counts)
      return true
    }
  }

  #conclude(
    pending: Pending,
    answer: ItemAnswer,
    posted: Posted,
    cause: UnknownCause | null,
    counts: ResultCounts,
  ): boolean {
    const { settler } = this.#options
    const conclusion = conclude(pending, answer, posted)
    if (pending.proof && answer.kind !== 'sent') {
      const attempts = pending.attempts + (conclusion === 'again' ? 0 : 1)
      settler.settle(pending, { ...pending.proof, attempts }, counts)
      return true
    }
    if (conclusion === 'again') return false
    if (conclusion === 'doubt')
      settler.doubt(pending, posted.sentAt, cause!, counts) // a doubt always has a cause
    else {
      const isProof = answer.kind === 'refused' && conclusion.outcome === 'SENT'
      const isOther = isProof && !settler.isProvedBy(pending, null)
      settler.settle(pending, isOther ? provedForAnother(conclusion.attempts, posted.sentAt) : conclusion, counts)
    }
    return true
  }

  /** Settles commands that a callback has proved to be sent; releases and requeues the others. */
  #release(pendings: readonly Pending[], how: Requeue, counts: ResultCounts): void {
    for (const pending of pendings) {
      if (pending.proof) this.#options.settler.settle(pending, pending.proof, counts)
      else pending.session.release(pending.offset)
    }
    const others = pendings.filter(({ proof }) => !proof)
    if (others.length > 0) this.#options.putBack(others, how)
  }
}

/** Finds the commands that were POSTed before and whose callbacks cannot be read now. */
async function unreadOf(pendings: readonly Pending[]): Promise<Set<Pending>> {
  const unread = new Set<Pending>()
  const ask = async (pending: Pending) => {
    if (!(await pending.callbackWatch!.catchUp())) unread.add(pending)
  }
  await Promise.all(pendings.filter(({ callbackWatch }) => callbackWatch).map(ask))
  return unread
}

/** The result of a command that was not POSTed, because busgate itself fails on it. */
const failed = ({ attempts, doubted }: Pending): ResultDetails => ({
  ...(doubted
    ? { outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST' }
    : { outcome: 'INVALID', errorCode: 'VALIDATION' }),
  attempts,
  error: 'busgate failed while it prepared the request; its log (fault.contained) says where',
})

const isBehind = ({ callbackWatch }: Pending) => callbackWatch?.isCaughtUp() === false

/** Counts the commands that were throttled repeatedly. */
function throttledAgain(pendings: readonly Pending[], classified: Classified): number {
  if (!('items' in classified)) return 0
  const { items } = classified
  return pendings.filter(({ throttled }, i) => throttled !== undefined && isThrottled(items[i]!)).length
}

function tracesOf(pendings: readonly Pending[]): TraceContext[] {
  return pendings.map(({ command }) => command.trace).filter(trace => trace !== null)
}
