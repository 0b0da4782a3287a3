import type { Account } from '../accounts/account.ts'
import type { Clock } from '../clock.ts'
import { classify } from '../gateway/classify.ts'
import type { Connection } from '../gateway/connection.ts'
import { envelopeBody } from '../gateway/envelope.ts'
import type { AccountQueue } from './queue.ts'

export interface VouchingOptions {
  connection: Connection
  /** Questions may begin until this instant of the monotonic clock: whoever owns the partitions now has the rate for them. */
  leaseUntil: () => number
  clock: Clock
  /** The account's commands that wait. */
  queuesOf: (account: Account) => AccountQueue[]
  /** Whether an envelope of the account is on its way. */
  isBusy: (account: Account) => boolean
  /** Runs the request when one may be in flight. */
  inSlot: (request: () => Promise<void>) => Promise<void>
}

/** Every account may ask it, and it changes nothing. */
const question = '{"type":"balance"}'
/** While the group re-joins there is no telling how long. */
const leaseRetryMs = 1000

/**
 * Where every command of an account that waits was refused alone, with a text that nobody knows, no other command can
 * tell whether the commands or the gateway are to blame. A question tells: as long as it is refused too, it is an outage.
 */
export class Vouching {
  readonly #options: VouchingOptions
  /** Accounts that have commands set aside. */
  readonly #accounts = new Set<Account>()
  readonly #asking = new Set<Account>()

  constructor(options: VouchingOptions) {
    this.#options = options
  }

  /** A command of the account was set aside. */
  add(account: Account): void {
    this.#accounts.add(account)
  }

  /** Asks where nothing else can tell. @returns the milliseconds after which to call again, Infinity when something changes first */
  check(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const account of this.#accounts) wait = Math.min(wait, this.#checkOne(account))
    return wait
  }

  #checkOne(account: Account): number {
    const { queuesOf, isBusy, clock, leaseUntil } = this.#options
    const queues = queuesOf(account)
    if (queues.every(({ aside }) => aside === 0)) this.#accounts.delete(account)
    const others = queues.some(({ length, aside }) => length > aside)
    if (!this.#accounts.has(account) || others || isBusy(account) || this.#asking.has(account)) return Infinity
    if (account.gate.state === 'closed') account.holdBack()
    const wait = clock.monotonic() < leaseUntil() ? account.wait() : Math.max(account.wait(), leaseRetryMs)
    if (wait === 0) void this.#ask(account)
    return wait === 0 ? Number.POSITIVE_INFINITY : wait
  }

  async #ask(account: Account): Promise<void> {
    const { connection, inSlot, queuesOf, clock, leaseUntil } = this.#options
    this.#asking.add(account)
    await inSlot(async () => {
      if (account.wait() === 0) {
        const leave = account.leave(1, false)
        const answer = await connection.post(envelopeBody(account.apiKey(), [question]), () => {
          if (clock.monotonic() >= leaseUntil()) return 'the lease is over'
          account.begun(leave)
          return null
        })
        if (account.vouched(leave, classify([null], answer))) for (const queue of queuesOf(account)) queue.vouch()
      }
      this.#asking.delete(account)
    })
  }
}
