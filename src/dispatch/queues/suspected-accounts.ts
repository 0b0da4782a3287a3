import type { Account } from '../../accounts/account.ts'
import type { Clock } from '../../clock.ts'
import type { LaneQueue } from './lane-queue.ts'

export interface SuspectedAccountsOptions {
  clock: Clock
  /** What waits for the account, in each lane. */
  queuesOf: (account: Account) => LaneQueue[]
  /** Whether an envelope of the account is on its way. */
  isBusy: (account: Account) => boolean
}

/** The accounts of which commands were refused alone, nobody knows why, and when those go out again. */
export class SuspectedAccounts {
  readonly #options: SuspectedAccountsOptions
  readonly #accounts = new Set<Account>()

  constructor(options: SuspectedAccountsOptions) {
    this.#options = options
  }

  /** A command of the account was refused alone. */
  add(account: Account): void {
    this.#accounts.add(account)
  }

  /**
   * Milliseconds until a suspect of the queue may go as far as the others are concerned, Infinity until they change: if
   * the account may send, when another command has passed; else as a probe that nothing else can be, each in its turn.
   */
  dueIn(account: Account, { suspects, length }: LaneQueue): number {
    if (suspects.length === 0) return Number.POSITIVE_INFINITY
    if (account.gate.state === 'closed') return suspects.dueIn(this.#options.clock.monotonic(), account)
    if (length > 0 || !suspects.mayGo) return Number.POSITIVE_INFINITY
    const oldest = Math.min(...this.#options.queuesOf(account).map(queue => queue.suspects.oldestAt))
    return suspects.oldestAt === oldest ? 0 : Number.POSITIVE_INFINITY
  }

  /** Has accounts pause for which nothing but suspects waits. @returns milliseconds after which to call again */
  check(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const account of this.#accounts) {
      const queues = this.#options.queuesOf(account)
      if (queues.some(({ suspects }) => suspects.mayGo)) wait = Math.min(wait, this.#holdBack(account, queues))
      else if (queues.every(({ suspects }) => suspects.length === 0)) this.#accounts.delete(account)
    }
    return wait
  }

  #holdBack(account: Account, queues: readonly LaneQueue[]): number {
    const { isBusy } = this.#options
    const others = queues.some(({ length }) => length > 0)
    const mayGo = () => queues.some(queue => Number.isFinite(this.dueIn(account, queue)))
    if (account.gate.state !== 'closed' || others || isBusy(account) || mayGo()) return Number.POSITIVE_INFINITY
    account.holdBack()
    return account.wait('suspect')
  }
}
