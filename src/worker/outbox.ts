import { type Account, refusedForNoKnownReason } from '../accounts/account.ts'
import type { Session } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { ItemAnswer } from '../gateway/classify.ts'
import type { DoubtWriter } from '../records/doubt.ts'
import {
  type AnswerEcho,
  type ResultDetails,
  type ResultSubject,
  readPayload,
  type WriteResult,
} from '../records/result.ts'
import type { Events, Telemetry } from '../telemetry/events.ts'
import { type DoubtCause, doubtCauses } from '../vocabulary/lists.ts'
import { type Expiry, type ExpiryRules, end, expiry, type Pending } from './pending.ts'
import { Proofs } from './proofs.ts'

/** Settles commands on their sessions, with a result or by moving them to the doubts. */
export class Outbox {
  readonly #writeResult: WriteResult
  readonly #writeDoubt: DoubtWriter
  readonly #telemetry: Telemetry
  readonly #proofs = new Proofs()

  constructor(writeResult: WriteResult, writeDoubt: DoubtWriter, telemetry: Telemetry) {
    this.#writeResult = writeResult
    this.#writeDoubt = writeDoubt
    this.#telemetry = telemetry
  }

  /**
   * Whether a proof that the message was sent counts for this record; if not, it counts for another record with the id.
   * @param msgId the gateway's identifier of the message in the proof
   */
  isProvedBy(pending: Pending, msgId: string | null): boolean {
    return this.#proofs.claim(pending, msgId)
  }

  settle(pending: Pending, details: ResultDetails, counts: ResultCounts): void {
    const { command, session, offset, doubted } = pending
    if (doubted && details.outcome === 'SENT') this.#proofs.claim(pending, details.payload?.msgId ?? null)
    session.settle(offset, [this.#writeResult(command, pending, details)])
    if (details.outcome === 'EXPIRED' || details.outcome === 'INVALID') pending.idUnused?.(pending)
    end(pending)
    counts.add(command, details)
    if (doubted) this.#telemetry.emit('doubt.resolved', { outcome: details.outcome })
  }

  /**
   * Moves a command whose outcome is unknown to the doubts. The first time, its producer gets an IN_DOUBT result.
   * @param postedAt latest time at which its POST can have begun
   */
  doubt(pending: Pending, postedAt: number, cause: DoubtCause, counts: ResultCounts): void {
    const { command, session, offset, doubted, attempts } = pending
    const records = [this.#writeDoubt(pending, postedAt, cause)]
    if (!doubted) {
      const error = doubtCauses[cause]
      const details: ResultDetails = {
        outcome: 'IN_DOUBT',
        attempts: attempts + 1,
        errorCode: 'RESPONSE_LOST',
        error,
        sentAt: postedAt,
      }
      records.push(this.#writeResult(command, pending, details))
      counts.add(command, details)
    }
    session.settle(offset, records)
    end(pending)
    counts.addDoubt(cause)
  }
}

type TallyGroup = Events['results.published'] & { shares: Map<string | null, { count: number; parts: number }> }

/** Counts results and doubts of one commit, so that telemetry gets one event per group. */
export class ResultCounts {
  /** A short list: the types, outcomes and codes of one envelope of one account. */
  readonly #groups: TallyGroup[] = []
  readonly #doubts = new Map<DoubtCause, number>()

  get isEmpty(): boolean {
    return this.#groups.length === 0 && this.#doubts.size === 0
  }

  add(subject: Pick<ResultSubject, 'type' | 'account' | 'tenant'>, details: ResultDetails): void {
    const { type, tenant } = subject
    const { outcome, errorCode = null, payload } = details
    const group = this.#groupOf(type, outcome === 'SENT' ? subject.account : null, outcome, errorCode)
    const share = shareOf(group, tenant)
    const parts = Math.max(0, payload?.parts ?? 0)
    group.count++
    share.count++
    group.parts += parts
    share.parts += parts
    group.price += Math.max(0, payload?.price ?? 0)
  }

  #groupOf(
    type: string,
    account: string | null,
    outcome: TallyGroup['outcome'],
    errorCode: TallyGroup['errorCode'],
  ): TallyGroup {
    for (const group of this.#groups) {
      if (group.type !== type || group.account !== account) continue
      if (group.outcome === outcome && group.errorCode === errorCode) return group
    }
    const group: TallyGroup = { type, account, outcome, errorCode, count: 0, parts: 0, price: 0, shares: new Map() }
    this.#groups.push(group)
    return group
  }

  addDoubt(cause: DoubtCause): void {
    this.#doubts.set(cause, (this.#doubts.get(cause) ?? 0) + 1)
  }

  /** Emits the events; call it after the commit. */
  announce(telemetry: Telemetry): void {
    for (const [cause, count] of this.#doubts) telemetry.emit('doubt.opened', { cause, count })
    for (const group of this.#groups) telemetry.emit('results.published', group)
  }
}

function shareOf({ shares }: TallyGroup, tenant: string | null): { count: number; parts: number } {
  const known = shares.get(tenant)
  if (known) return known
  const share = { count: 0, parts: 0 }
  shares.set(tenant, share)
  return share
}

export interface SettleExpiredOptions extends ExpiryRules {
  accounts: ReadonlyMap<string, Account>
  outbox: Outbox
  clock: Clock
  telemetry: Telemetry
}

/** Settles expired commands and skips finished ones while commands are taken from a queue. */
export function settleExpired<T>(options: SettleExpiredOptions, take: (accept: (pending: Pending) => boolean) => T): T {
  const { accounts, clock, outbox, telemetry } = options
  const countsOf = new Map<Session, ResultCounts>()
  const now = clock.now()
  const taken = take(pending => {
    if (pending.over) return false
    const expired = expiry(pending, now, options)
    if (!expired) return true
    const counts = countsOf.get(pending.session) ?? new ResultCounts()
    countsOf.set(pending.session, counts)
    const wasRefused = accounts.get(pending.command.account)!.refusedAt >= pending.readyAt
    const waitedFor = wasRefused ? refusedForNoKnownReason : undefined
    outbox.settle(pending, concludeExpired(pending, expired, waitedFor), counts)
    return false
  })
  for (const [session, counts] of countsOf) void session.committed().then(() => counts.announce(telemetry))
  return taken
}

/** A POST that was answered. */
export interface Posted {
  /** Time of its first byte, milliseconds since 1970. */
  sentAt: number
  /** What the answer may repeat. */
  echo: AnswerEcho
}

/**
 * The table of outcomes: what the answer means for a command, given its earlier POSTs. A command that was once in doubt ends
 * only SENT or UNRESOLVED.
 * @returns the final result; `doubt` if it was perhaps sent; `again` if it was throttled, which is not an attempt
 */
export function conclude(
  pending: Pending,
  answer: ItemAnswer,
  { sentAt, echo }: Posted,
): ResultDetails | 'doubt' | 'again' {
  const attempts = pending.attempts + 1
  if (answer.kind === 'in_doubt') return 'doubt'
  if (answer.kind === 'sent') {
    const payload = readPayload(pending.command.type, answer.data, echo)
    return { outcome: 'SENT', attempts, payload, sentAt }
  }
  const { code, error } = answer
  if (code === 'THROTTLED') return 'again'
  // the gateway knows the id, so the earlier POST was executed
  if (pending.doubted && code === 'DUPLICATE_ID') return { outcome: 'SENT', attempts, sentAt }
  return { outcome: pending.doubted ? 'UNRESOLVED' : 'REJECTED', attempts, errorCode: code, error, sentAt }
}

/**
 * The result of a command that must not be POSTed any more. Unless it was withdrawn, its error is that of its last refusal.
 * @param waitedFor why it waited, if it was not refused itself
 */
export function concludeExpired(
  { attempts, doubted, refusal }: Pending,
  expired: Expiry,
  waitedFor?: string,
): ResultDetails {
  const outcome = doubted ? 'UNRESOLVED' : 'EXPIRED'
  const error = expired.error ?? refusal?.error ?? waitedFor
  return { outcome, attempts, errorCode: expired.errorCode, ...(error !== undefined && { error }) }
}

/** The result of a record in doubt whose id is known to the gateway, but by what counts for another record. */
export const provedForAnother = (attempts: number, sentAt: number): ResultDetails => ({
  outcome: 'UNRESOLVED',
  attempts,
  errorCode: 'RESPONSE_LOST',
  error: 'another record with this id was sent, and the gateway does not tell which of them it knows',
  sentAt,
})

/** @param unreadable why it could not be sent again, if so */
export function nobodyCouldTell(unreadable?: string): string {
  const text = 'nobody could tell whether it was sent'
  return unreadable === undefined ? text : `${text}, and it could not be sent again: ${unreadable}`
}
