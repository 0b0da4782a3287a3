import type { OutgoingRecord, Session } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { type Classified, classify, type Verdict } from '../gateway/classify.ts'
import type { Connection } from '../gateway/connection.ts'
import { envelopeBody } from '../gateway/envelope.ts'
import type { ErrorCode } from '../protocol/index.ts'
import { readPayload } from '../records/result.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { Account } from './account.ts'
import type { PauseReason } from './gate.ts'
import type { Grant } from './limiter.ts'
import { expiry, type Pending } from './pending.ts'
import { type ResultDetails, ResultTally, type WriteResult } from './results.ts'

/** Commands of one account and one partition that go out together. */
export interface Envelope {
  session: Session
  account: Account
  pendings: Pending[]
  /** Whether its outcome decides about the account's pause. */
  probe: boolean
  grant: Grant | null
}

export interface DeliveryOptions {
  connection: Connection
  writeResult: WriteResult
  leaseUntil: () => number
  maxAgeMs: number
  errorTexts: Readonly<Record<string, ErrorCode>>
  clock: Clock
  telemetry: Telemetry
  /** Commands that were not sent and wait again. */
  putBack: (pendings: readonly Pending[], halved: boolean) => void
}

/** One envelope's way: intent, POST, verdict, results, all of it committed. */
export class Delivery {
  readonly #options: DeliveryOptions

  constructor(options: DeliveryOptions) {
    this.#options = options
  }

  /** Resolves when what became of it is committed. */
  async deliver(envelope: Envelope): Promise<void> {
    const { session, account, pendings } = envelope
    if (!(await session.intend(pendings.map(({ offset }) => offset)))) {
      this.#withdraw(envelope)
      this.#options.putBack(pendings, false)
      return
    }
    const { connection, clock, errorTexts } = this.#options
    const body = envelopeBody(
      account.apiKey(),
      pendings.map(({ command }) => command.json),
    )
    let firstByteAt: number | null = null
    const answer = await connection.post(body, () => {
      const reason = this.#lastCheck(envelope)
      if (reason === null) {
        firstByteAt = clock.now()
        if (envelope.grant) envelope.grant.sentAt = clock.monotonic()
      }
      return reason
    })
    const ids = pendings.map(({ command }) => command.idText)
    const classified = classify(ids, answer, errorTexts)
    this.#informGate(envelope, classified)
    await this.#apply(envelope, classified, firstByteAt ?? clock.now())
  }

  /** Right before the first byte. Everything that could have changed since the intent was written. */
  #lastCheck({ session, pendings }: Envelope): string | null {
    const { clock, leaseUntil, maxAgeMs } = this.#options
    if (!session.alive) return 'the partition was lost'
    if (clock.monotonic() >= leaseUntil()) return 'the lease on the partition is over'
    const now = clock.now()
    return pendings.some(pending => expiry(pending, now, maxAgeMs)) ? 'a command expired' : null
  }

  async #apply(envelope: Envelope, classified: Classified, sentAt: number): Promise<void> {
    const { pendings, session } = envelope
    const { telemetry, clock } = this.#options
    const tally = new ResultTally()
    if (classified.outcome === 'answered' || classified.outcome === 'unknown') {
      this.#settleAll(envelope, classified, sentAt, tally)
    } else if (classified.outcome === 'refused' && pendings.length === 1) {
      const { code, error } = classified
      this.#settle(
        pendings[0]!,
        { outcome: 'REJECTED', attempts: pendings[0]!.attempts + 1, errorCode: code, error, sentAt },
        tally,
      )
    } else {
      this.#takeBack(envelope, classified.outcome)
    }
    const seconds = (clock.now() - sentAt) / 1000
    const { outcome } = classified
    telemetry.emit('envelope.finished', {
      account: envelope.account.name,
      outcome,
      operations: pendings.length,
      seconds,
    })
    await session.committed()
    for (const group of tally.groups()) telemetry.emit('results.published', group)
  }

  #settleAll(
    envelope: Envelope,
    classified: Classified & { verdicts: Verdict[] },
    sentAt: number,
    tally: ResultTally,
  ): void {
    const throttled: Pending[] = []
    let doubts = 0
    for (const [i, pending] of envelope.pendings.entries()) {
      const verdict = classified.verdicts[i]!
      const attempts = pending.attempts + 1
      if (verdict.kind === 'sent') {
        const payload = readPayload(pending.command.type, verdict.data)
        this.#settle(pending, { outcome: 'SENT', attempts, payload, sentAt }, tally)
      } else if (verdict.kind === 'in_doubt') {
        doubts++
        const error = 'error' in classified ? classified.error : ''
        this.#settle(pending, { outcome: 'IN_DOUBT', attempts, errorCode: 'RESPONSE_LOST', error, sentAt }, tally)
      } else if (verdict.code === 'THROTTLED') {
        throttled.push(pending)
      } else {
        const { code, error } = verdict
        this.#settle(pending, { outcome: 'REJECTED', attempts, errorCode: code, error, sentAt }, tally)
      }
    }
    if (throttled.length > 0) {
      this.#pause(envelope, 'throttled', throttled.length, 'operations above the rate', null)
      this.#release(envelope.session, throttled, false)
    }
    if (doubts > 0) {
      const cause = 'cause' in classified ? classified.cause : 'in_doubt'
      this.#options.telemetry.emit('doubt.opened', { cause, count: doubts })
    }
  }

  #settle(pending: Pending, details: ResultDetails, tally: ResultTally): void {
    const { session, offset, command } = pending
    const { topic, partition } = session
    const result: OutgoingRecord = this.#options.writeResult(command, { topic, partition, offset }, details)
    session.settle(offset, [result])
    tally.add(command.type, details.outcome, details.errorCode ?? null)
  }

  /** None was sent. What the gateway itself refused counts as an attempt, and a refused envelope is halved. */
  #takeBack({ account, grant, pendings, session }: Envelope, outcome: Classified['outcome']): void {
    if (grant?.sentAt === null) account.limiter?.giveBack(grant)
    if (outcome !== 'not_sent') for (const pending of pendings) pending.attempts++
    this.#release(session, pendings, outcome === 'refused')
  }

  #release(session: Session, pendings: readonly Pending[], halved: boolean): void {
    for (const { offset } of pendings) session.release(offset)
    this.#options.putBack(pendings, halved)
  }

  /** The intent was not written: nothing of it happened. */
  #withdraw({ account, grant, probe }: Envelope): void {
    if (grant) account.limiter?.giveBack(grant)
    account.gate.withdraw(probe)
  }

  #informGate(envelope: Envelope, classified: Classified): void {
    const { account, probe, pendings } = envelope
    const { clock, telemetry } = this.#options
    const count = pendings.length
    if (classified.outcome === 'answered' || classified.outcome === 'refused') {
      if (account.gate.passed(probe)) telemetry.emit('account.resumed', { account: account.name })
    } else if (classified.outcome === 'denied') {
      this.#pause(envelope, 'denied', count, classified.error, null)
    } else if (classified.outcome === 'unknown') {
      const retryInMs = account.gate.undecided(probe, clock.monotonic())
      if (retryInMs !== null) this.#announcePause(envelope, 'undecided', retryInMs, classified.error)
    } else if (classified.reason === 'withheld') {
      account.gate.withdraw(probe)
    } else {
      this.#pause(envelope, classified.reason, count, classified.error, classified.retryAfterMs)
    }
  }

  #pause(envelope: Envelope, reason: PauseReason, count: number, error: string, retryAfterMs: number | null): void {
    const { account, probe } = envelope
    const { clock, telemetry } = this.#options
    telemetry.emit('gateway.retry', { reason, count })
    const retryInMs = account.gate.pause(reason, probe, clock.monotonic(), retryAfterMs)
    if (retryInMs !== null) this.#announcePause(envelope, reason, retryInMs, error)
  }

  #announcePause({ account }: Envelope, reason: PauseReason, retryInMs: number, error: string): void {
    this.#options.telemetry.emit('account.paused', { account: account.name, reason, retryInMs, error })
  }
}
