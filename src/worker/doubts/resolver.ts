import type { Account } from '../../accounts/account.ts'
import type { PollAnswer, StatusPoller } from '../../accounts/status-poller.ts'
import type { Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { contentOf } from '../../gateway/classify.ts'
import { envelopeBody } from '../../gateway/connection.ts'
import { Echo } from '../../protocol/echo.ts'
import { operations, type SendType } from '../../protocol/index.ts'
import { isNotFound, readStatusAnswer } from '../../protocol/status-answer.ts'
import type { StatusEvent } from '../../records/generated.ts'
import { noPayload, type ResultDetails, type ResultPayload, readPayload } from '../../records/result.ts'
import { containAsync } from '../../telemetry/contain.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { HeldAccount } from '../../vocabulary/holds.ts'
import type { Policy } from '../../vocabulary/lists.ts'
import { concludeExpired, nobodyCouldTell, provedForAnother } from '../conclude.ts'
import { heldUnknown } from '../intake/unknown-accounts.ts'
import { type ExpiryRules, expiry, type Pending } from '../pending.ts'
import { ResultCounts } from '../result-counts.ts'
import type { Settler } from '../settler.ts'
import type { Evidence, EvidenceSearch } from './evidence.ts'

export interface ResolverOptions extends ExpiryRules {
  poller: StatusPoller
  evidence: Evidence
  accounts: ReadonlyMap<string, Account>
  settler: Settler
  /** Queues a command to be POSTed again. */
  sendAgain: (pending: Pending) => void
  /** Policies by type, for commands without their own. */
  policies: Readonly<Record<SendType, Policy>>
  /** How long a POST may still be executed after its doubt is read: gateway.timeoutMs + doubts.waitMs. */
  settleMs: number
  polls: number
  pollIntervalMs: number
  maxAttempts: number
  /** Error texts by which the gateway says that it does not know a message. */
  notFoundTexts: readonly string[]
  clock: Clock
  telemetry: Telemetry
}

/**
 * What a status poll proves about a message in doubt. `inconclusive`: nothing. `unreadable`: nothing either, and it must not be
 * sent again, because the gateway may have said that it knows it.
 */
export type PollEvidence = 'sent' | 'not_found' | 'inconclusive' | 'unreadable' | 'unanswered'

/**
 * Reads a poll's answer. A refusal means "not found" only with one of the given texts. A key that may not ask for statuses may
 * well send.
 */
export function evidenceOf(answer: PollAnswer, notFoundTexts: readonly string[]): PollEvidence {
  if (answer.kind === 'in_doubt') return 'unanswered'
  if (answer.kind === 'refused') {
    if (answer.code === 'THROTTLED') return 'unanswered'
    if (answer.code === 'ACCESS_DENIED') return 'unreadable'
    return isNotFound(answer.error, notFoundTexts) ? 'not_found' : 'inconclusive'
  }
  const { proof } = readStatusAnswer(contentOf(answer), notFoundTexts)
  return proof === 'unknown' ? 'inconclusive' : proof
}

/** A command in doubt that this process resolves. */
interface Doubt {
  pending: Pending
  /** Latest time at which its last POST can have begun, by its sender's clock, milliseconds since 1970. */
  postedAt: number
  /** Number of definite answers that proved nothing. */
  inconclusive: number
  /** Whether one of them could not be read, so that it must not be sent again. */
  unreadable: boolean
  over: boolean
  /** null if no callback can arrive. */
  search: EvidenceSearch | null
  /** When this process took it, milliseconds since 1970. */
  takenAt: number
}

const unreadableStatus = 'nobody could tell whether it was sent: the gateway answered for its status, but without words'

/** Longest wait for unread callbacks before a doubt is decided without them. It is sent again only with them. */
const patienceMs = 10_000
/** Interval at which a command that may be sent again checks for unread callbacks. */
const listenAgainMs = 1000
/** How long an envelope, which holds a slot, waits for unread callbacks of its commands. */
const inSlotMs = 2000

/**
 * Resolves doubts: waits until the POST can no longer be executed late, polls the status, and then writes the final result, or
 * sends again if the policy allows it. A callback settles a doubt at any time until that POST begins. The resolver keeps no
 * state: after a restart or a rebalance, the wait begins again.
 */
export class Resolver {
  readonly #options: ResolverOptions
  readonly #bySession = new Map<Session, Set<Doubt>>()
  /** Doubts of accounts that this process does not know. In a rolling update, other processes may know them. */
  readonly #ofUnknown = new Set<Doubt>()
  /** Number of open doubts in this process, including those that wait to be sent again. */
  open = 0

  constructor(options: ResolverOptions) {
    this.#options = options
  }

  /**
   * @param postedAt latest time at which the last POST can have begun, by its sender's clock, milliseconds since 1970
   * @param since earliest time of a callback, milliseconds since 1970
   */
  resolve(pending: Pending, postedAt: number, since: number): void {
    const canBeAsked = operations[pending.command.type].hasStatus
    const { accounts, clock, settleMs } = this.#options
    const takenAt = clock.now()
    const doubt: Doubt = { pending, postedAt, inconclusive: 0, unreadable: false, over: false, search: null, takenAt }
    if (!accounts.has(pending.command.account)) this.#ofUnknown.add(doubt)
    const ofSession = this.#bySession.get(pending.session) ?? new Set()
    this.#bySession.set(pending.session, ofSession.add(doubt))
    this.open++
    pending.onOver = () => this.#close(doubt)
    if (canBeAsked) this.#awaitCallback(doubt, since)
    // counted from now, since postedAt is from its sender's clock
    const wait = this.#maySendAgain(pending) || canBeAsked ? settleMs : 0
    this.#after(wait, doubt, () => (canBeAsked ? this.#poll(doubt) : this.#decide(doubt)))
  }

  /** Whether it resolves this message now. */
  holds(session: Session, { id, account }: { id: bigint; account: string }): boolean {
    const doubts = [...(this.#bySession.get(session) ?? [])]
    return doubts.some(({ pending: { command } }) => command.id === id && command.account === account)
  }

  /** The first of the accounts that this process does not know, with the number of their doubts. */
  get held(): HeldAccount[] {
    return heldUnknown(Array.from(this.#ofUnknown, ({ pending, takenAt }) => ({ ...pending.command, since: takenAt })))
  }

  /** Drops the doubts of a session, which the partition's next owner resolves. */
  forget(session: Session): void {
    const doubts = [...(this.#bySession.get(session) ?? [])]
    for (const doubt of doubts) this.#close(doubt)
    this.#bySession.delete(session)
  }

  #awaitCallback(doubt: Doubt, since: number): void {
    const { idText: id, account } = doubt.pending.command
    const { evidence, clock, settler } = this.#options
    const found = ({ msgId, updatedAt, receivedAt }: StatusEvent) => {
      if (doubt.over || !settler.isProvedBy(doubt.pending, msgId)) return
      const sentAt = Math.min(doubt.postedAt, Math.max(since, updatedAt ?? receivedAt))
      const details = this.#sent(doubt, { ...noPayload, msgId }, sentAt)
      if (doubt.pending.packed) doubt.pending.proof = details
      else this.#settle(doubt, details)
    }
    const search = evidence.search({ id, account, since: Math.min(since, clock.now()), found })
    doubt.search = search
    doubt.pending.callbackWatch = {
      catchUp: () => search.catchUp(inSlotMs),
      isCaughtUp: () => search.isCaughtUp,
      requeueWhenCaughtUp: () => this.#run(doubt, () => this.#decide(doubt)),
    }
  }

  async #poll(doubt: Doubt): Promise<void> {
    const { poller, accounts, settler, notFoundTexts, polls, pollIntervalMs, telemetry, clock, maxAgeMs } =
      this.#options
    const { command, since } = doubt.pending
    const account = accounts.get(command.account)
    if (!account) {
      if (clock.now() > since + maxAgeMs) await this.#decide(doubt)
      else this.#after(pollIntervalMs, doubt, () => this.#poll(doubt))
      return
    }
    const answer = await poller.ask(account, command.idText, () => !doubt.over)
    if (doubt.over) return
    const evidence = evidenceOf(answer, notFoundTexts)
    telemetry.emit('status.polled', { result: evidence })
    if (evidence === 'sent') {
      const echo = Echo.of(envelopeBody(account.apiKey(), [command.json]))
      const payload = answer.kind === 'sent' ? readPayload(command.type, answer.data, echo) : noPayload
      const counts = settler.isProvedBy(doubt.pending, null)
      this.#settle(
        doubt,
        counts ? this.#sent(doubt, payload) : provedForAnother(doubt.pending.attempts, doubt.postedAt),
      )
      return
    }
    if (evidence === 'inconclusive' || evidence === 'unreadable') doubt.inconclusive++
    doubt.unreadable ||= evidence === 'unreadable'
    const tooOld = clock.now() > since + maxAgeMs
    if (evidence === 'not_found' || doubt.inconclusive >= polls || tooOld) await this.#decide(doubt)
    else this.#after(pollIntervalMs, doubt, () => this.#poll(doubt))
  }

  /** Decides after the last poll, once the callbacks so far are read. */
  async #decide(doubt: Doubt): Promise<void> {
    const { maxAttempts, clock, sendAgain, accounts, pollIntervalMs, maxAgeMs } = this.#options
    const { pending, postedAt, search } = doubt
    const caughtUp = search === null || (await search.catchUp(patienceMs))
    if (doubt.over) return
    const { attempts } = pending
    const isKnown = accounts.has(pending.command.account)
    if (!isKnown && this.#isAtLeastOnce(pending) && clock.now() <= pending.since + maxAgeMs) {
      this.#after(pollIntervalMs, doubt, () => this.#decide(doubt))
      return
    }
    const expired = expiry(pending, clock.now(), this.#options)
    const error = doubt.unreadable ? unreadableStatus : nobodyCouldTell(pending.unreadable)
    const unresolved = { outcome: 'UNRESOLVED', attempts, error } as const
    if (doubt.unreadable || !this.#maySendAgain(pending)) {
      this.#settle(doubt, { ...unresolved, errorCode: 'RESPONSE_LOST', sentAt: postedAt })
    } else if (expired) {
      this.#settle(doubt, concludeExpired(pending, expired))
    } else if (attempts >= maxAttempts) {
      this.#settle(doubt, { ...unresolved, errorCode: 'ATTEMPTS_EXHAUSTED', sentAt: postedAt })
    } else if (!caughtUp || isEarly(pending, clock.now())) {
      this.#after(listenAgainMs, doubt, () => this.#decide(doubt))
    } else {
      sendAgain(pending)
    }
  }

  #isAtLeastOnce({ command }: Pending): boolean {
    const policy = command.delivery === 'DEFAULT' ? this.#options.policies[command.type] : command.delivery
    return policy === 'AT_LEAST_ONCE'
  }

  #maySendAgain(pending: Pending): boolean {
    return this.#isAtLeastOnce(pending) && this.#options.accounts.has(pending.command.account)
  }

  #sent({ pending, postedAt }: Doubt, payload: ResultPayload, sentAt = postedAt): ResultDetails {
    return { outcome: 'SENT', attempts: pending.attempts, sentAt, payload }
  }

  #settle({ pending }: Doubt, details: ResultDetails): void {
    const { settler, telemetry } = this.#options
    const counts = new ResultCounts()
    settler.settle(pending, details, counts)
    void pending.session.committed().then(() => counts.announce(telemetry))
  }

  #after(ms: number, doubt: Doubt, action: () => Promise<void>): void {
    this.#options.clock.after(ms, () => this.#run(doubt, action))
  }

  /** The boundary around one doubt: an error of ours ends this doubt alone. */
  #run(doubt: Doubt, action: () => Promise<void>): void {
    if (doubt.over) return
    const { pending, postedAt } = doubt
    const { topic, partition, record, attempts } = pending
    const place = { topic, partition, offset: record.offset }
    const unresolved = () => {
      if (doubt.over) return
      const error = nobodyCouldTell('busgate failed on it')
      this.#settle(doubt, { outcome: 'UNRESOLVED', attempts, errorCode: 'RESPONSE_LOST', error, sentAt: postedAt })
    }
    void containAsync(this.#options.telemetry, 'doubt', place, action, unresolved)
  }

  #close(doubt: Doubt): void {
    if (doubt.over) return
    doubt.over = true
    doubt.search?.end()
    this.#bySession.get(doubt.pending.session)?.delete(doubt)
    this.#ofUnknown.delete(doubt)
    this.open--
  }
}

/** A worker with a faster clock perhaps sent it; that is no reason to send it again before its time. */
const isEarly = ({ command: { notBefore } }: Pending, now: number): boolean => notBefore !== null && notBefore > now
