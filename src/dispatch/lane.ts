import type { Session } from '../bus/port.ts'
import type { Return } from './delivery.ts'
import { LaneQueue } from './lane-queue.ts'
import type { Pending } from './pending.ts'

/** How often accounts have their turns, and how much tenants have of an account's, where it is not once. */
export interface Weights {
  accounts: ReadonlyMap<string, number>
  tenants: ReadonlyMap<string, number>
}

/** One topic's commands that wait to be sent, by account. The accounts take turns, of as many envelopes as they weigh. */
export class Lane {
  readonly #weights: Weights
  readonly #queues = new Map<string, LaneQueue>()
  /** Envelopes of the account that is the next one, in its turn. */
  #left: { account: string; envelopes: number } | null = null

  constructor(weights: Weights) {
    this.#weights = weights
  }

  /** The queues by the names of their accounts, the next one first. */
  get queues(): Iterable<[string, LaneQueue]> {
    return this.#queues
  }

  of(account: string): LaneQueue | undefined {
    return this.#queues.get(account)
  }

  push(pending: Pending): void {
    this.#queueOf(pending).push(pending)
  }

  /** Takes back what was in an envelope. */
  putBack(pendings: readonly Pending[], how: Return): void {
    const [first] = pendings
    const queue = this.#queueOf(first!)
    if (how === 'first') queue.putBack(pendings)
    else if (how === 'half') queue.putBackHalf(pendings)
    else if (how === 'halved') queue.putBackHalved(pendings)
    else queue.suspects.push(first!)
  }

  /** An account's envelope left. At the end of its turn the others come first. */
  turn(account: string): void {
    const before = this.#left?.account === account ? this.#left.envelopes : 0
    const envelopes = before + 1
    const isOver = envelopes >= (this.#weights.accounts.get(account) ?? 1)
    this.#left = isOver ? null : { account, envelopes }
    const queue = this.#queues.get(account)!
    if (!isOver) return
    this.#queues.delete(account)
    this.#queues.set(account, queue)
  }

  resume(session: Session): void {
    for (const queue of this.#queues.values()) queue.resume(session)
  }

  remove(session: Session): void {
    for (const queue of this.#queues.values()) queue.remove(session)
  }

  #queueOf({ command: { account } }: Pending): LaneQueue {
    const queue = this.#queues.get(account) ?? new LaneQueue(this.#weights.tenants)
    this.#queues.set(account, queue)
    return queue
  }
}
