import type { Account } from '../../accounts/account.ts'
import type { Clock } from '../../clock.ts'
import type { LaneQueue } from './lane-queue.ts'

export interface QuarantineScheduleOptions {
  clock: Clock
  /** What waits for the account, in each lane. */
  queuesOf: (account: Account) => LaneQueue[]
  /** Whether an envelope of the account is on its way. */
  isBusy: (account: Account) => boolean
}

/** Tells when commands in quarantine are sent again, over all queues of their account. */
export class QuarantineSchedule {
  readonly #options: QuarantineScheduleOptions
  readonly #accounts = new Set<Account>()

  constructor(options: QuarantineScheduleOptions) {
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
  dueIn(account: Account, { quarantine, length }: LaneQueue): number {
    if (quarantine.length === 0) return Number.POSITIVE_INFINITY
    if (account.gate.state === 'closed') return quarantine.dueIn(this.#options.clock.monotonic(), account)
    if (length > 0 || !quarantine.mayGo) return Number.POSITIVE_INFINITY
    const oldest = Math.min(...this.#options.queuesOf(account).map(queue => queue.quarantine.oldestAt))
    return quarantine.oldestAt === oldest ? 0 : Number.POSITIVE_INFINITY
  }

  /** Has accounts pause for which nothing but suspects waits. @returns milliseconds after which to call again */
  check(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const account of this.#accounts) {
      const queues = this.#options.queuesOf(account)
      if (queues.some(({ quarantine }) => quarantine.mayGo)) wait = Math.min(wait, this.#holdBack(account, queues))
      else if (queues.every(({ quarantine }) => quarantine.length === 0)) this.#accounts.delete(account)
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
