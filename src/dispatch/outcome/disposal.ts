import { type Account, refusedForNoKnownReason } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { expiry, type Pending } from '../pending.ts'
import { concludeExpired } from './conclusion.ts'
import type { Outbox } from './outbox.ts'
import { ResultTally } from './result-tally.ts'

export interface DisposalOptions {
  accounts: ReadonlyMap<string, Account>
  outbox: Outbox
  maxAgeMs: number
  clock: Clock
  telemetry: Telemetry
}

/** Disposes of the commands that are over or have expired while others are taken out of a queue. */
export class Disposal {
  readonly #options: DisposalOptions

  constructor(options: DisposalOptions) {
    this.#options = options
  }

  during<T>(take: (accept: (pending: Pending) => boolean) => T): T {
    const { accounts, clock, maxAgeMs, outbox, telemetry } = this.#options
    const tallies = new Map<Session, ResultTally>()
    const now = clock.now()
    const taken = take(pending => {
      if (pending.over) return false
      const errorCode = expiry(pending, now, maxAgeMs)
      if (!errorCode) return true
      const tally = tallies.get(pending.session) ?? new ResultTally()
      tallies.set(pending.session, tally)
      const wasRefused = accounts.get(pending.command.account)!.refusedAt >= pending.readyAt
      const waitedFor = wasRefused ? refusedForNoKnownReason : undefined
      outbox.settle(pending, concludeExpired(pending, errorCode, waitedFor), tally)
      return false
    })
    for (const [session, tally] of tallies) void session.committed().then(() => tally.announce(telemetry))
    return taken
  }
}
