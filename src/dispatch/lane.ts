import type { Session } from '../bus/port.ts'
import type { Return } from './delivery.ts'
import { LaneQueue } from './lane-queue.ts'
import type { Pending } from './pending.ts'

/** One topic's commands that wait to be sent, by account. The accounts take turns. */
export class Lane {
  readonly #queues = new Map<string, LaneQueue>()

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

  /** An account's envelope left: the other accounts' turn comes first. */
  turn(account: string): void {
    const queue = this.#queues.get(account)!
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
    const queue = this.#queues.get(account) ?? new LaneQueue()
    this.#queues.set(account, queue)
    return queue
  }
}
