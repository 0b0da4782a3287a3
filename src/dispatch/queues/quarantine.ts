import type { Account } from '../../accounts/account.ts'
import { isOvertaken, refusalsToReject, retryAt } from '../outcome/refusals.ts'
import type { Pending, Refusal } from '../pending.ts'
import { Fifo } from './fifo.ts'

/**
 * Holds the commands of one queue that were refused alone with a text that nobody knows, until they are sent again. One of a
 * partition that is not open keeps its place, and those behind it wait too: while the group re-joins, none is open.
 */
export class Quarantine {
  /** There is a list for each number of refusals, in the order in which its commands may go. */
  readonly #byCount = Array.from({ length: refusalsToReject - 1 }, () => new Fifo())

  get length(): number {
    return this.#byCount.reduce((sum, { length }) => sum + length, 0)
  }

  get firsts(): Pending[] {
    return this.#byCount.flatMap(({ first }) => first ?? [])
  }

  /** Tells whether there is one whose partition is open. */
  get mayGo(): boolean {
    return this.#open.length > 0
  }

  get #open(): Pending[] {
    return this.firsts.filter(({ session }) => session.open)
  }

  /** Monotonic milliseconds: when the one was refused that has waited longest. Infinity: none may go. */
  get oldestAt(): number {
    return Math.min(...this.#open.map(({ refusal }) => refusal!.at))
  }

  push(pending: Pending): void {
    this.#listOf(pending).push(pending)
  }

  /** What left and was not sent is the next to go. */
  putBack(pendings: readonly Pending[]): void {
    for (const pending of pendings) this.#listOf(pending).unshift([pending])
  }

  /** Milliseconds until one may go because another command of the account has passed since. Infinity: none may. */
  dueIn(now: number, account: Account): number {
    const instants = this.#open.map(({ refusal }) => (isOvertaken(refusal!, account) ? retryAt(refusal!) : Infinity))
    return Math.max(0, Math.min(...instants) - now)
  }

  /** Takes the one that is due first; `accept` may dispose of it instead. */
  takeDue(account: Account, accept: (pending: Pending) => boolean): Pending[] {
    return this.#take(refusal => (isOvertaken(refusal, account) ? retryAt(refusal) : Infinity), accept)
  }

  /** Takes the one that has waited longest, so that each has its turn. */
  takeOldest(accept: (pending: Pending) => boolean): Pending[] {
    return this.#take(({ at }) => at, accept)
  }

  /** Takes out those that are to go, wherever they stand. */
  takeOut(goes: (pending: Pending) => boolean): Pending[] {
    return this.#byCount.flatMap(list => list.takeOut(goes))
  }

  #take(by: (refusal: Refusal) => number, accept: (pending: Pending) => boolean): Pending[] {
    const instants = this.#byCount.map(({ first }) =>
      first?.session.open ? by(first.refusal!) : Number.POSITIVE_INFINITY,
    )
    const least = this.#byCount[instants.indexOf(Math.min(...instants))]!
    const taken = least.first
    if (!taken?.session.open) return []
    least.shift()
    return accept(taken) ? [taken] : []
  }

  #listOf({ refusal }: Pending): Fifo {
    return this.#byCount[refusal!.alone - 1]!
  }
}
