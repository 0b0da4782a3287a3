import { type Account, refusedForNoKnownReason } from '../accounts/account.ts'
import type { Session } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { DoubtWriter } from '../records/doubt.ts'
import type { ResultDetails, WriteResult } from '../records/result.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type DoubtCause, doubtCauses } from '../vocabulary/lists.ts'
import { concludeExpired } from './conclude.ts'
import { type ExpiryRules, end, expiry, type Pending } from './pending.ts'
import { Proofs } from './proofs.ts'
import { ResultCounts } from './result-counts.ts'

/** Settles commands on their sessions, with a result or by moving them to the doubts. */
export class Settler {
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

export interface SettleExpiredOptions extends ExpiryRules {
  accounts: ReadonlyMap<string, Account>
  settler: Settler
  clock: Clock
  telemetry: Telemetry
}

/** Settles expired commands and skips finished ones while commands are taken from a queue. */
export function settleExpired<T>(options: SettleExpiredOptions, take: (accept: (pending: Pending) => boolean) => T): T {
  const { accounts, clock, settler, telemetry } = options
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
    settler.settle(pending, concludeExpired(pending, expired, waitedFor), counts)
    return false
  })
  for (const [session, counts] of countsOf) void session.committed().then(() => counts.announce(telemetry))
  return taken
}
