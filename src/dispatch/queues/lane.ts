import type { Session } from '../../bus/port.ts'
import type { Controls } from '../../control/controls.ts'
import { isSuspect, type Pending } from '../pending.ts'
import { LaneQueue } from './lane-queue.ts'

/**
 * Requeue says how commands that were not sent wait again: the next to go, when they are ready again, as a half that
 * goes by itself as before, or in halves that go each by itself.
 */
export type Requeue = 'first' | 'later' | 'half' | 'halved'

/**
 * One topic's commands that wait to be sent, by account. The accounts take turns, of an envelope each.
 * What is paused waits apart, by the key of the pause that stops it, so that it is in nobody's way.
 */
export class Lane {
  readonly #weights: ReadonlyMap<string, number>
  readonly #controls: Controls
  readonly #queues = new Map<string, LaneQueue>()
  readonly #paused = new Map<string, LaneQueue>()

  /** @param weights of tenants, where they are not 1 */
  constructor(weights: ReadonlyMap<string, number>, controls: Controls) {
    this.#weights = weights
    this.#controls = controls
  }

  /** The queues by the names of their accounts, the next one first. */
  get queues(): Iterable<[string, LaneQueue]> {
    return this.#queues
  }

  /** The queues of what is paused, by the keys of the pauses. */
  get paused(): Iterable<[string, LaneQueue]> {
    return this.#paused
  }

  get all(): [string, LaneQueue][] {
    return [...this.#queues, ...this.#paused]
  }

  /** Tells where a command waits: in the queue of its account, or of the pause that stops it. */
  nameOf({ command, topic }: Pending): string {
    return this.#controls.stopping(command, topic) ?? command.account
  }

  of(name: string): LaneQueue | undefined {
    return this.#queues.get(name) ?? this.#paused.get(name)
  }

  push(pending: Pending): void {
    this.#queueOf(pending).push(pending)
  }

  /** Takes back what was in an envelope. */
  putBack(pendings: readonly Pending[], how: Requeue): void {
    for (const [queue, own] of Map.groupBy(pendings, pending => this.#queueOf(pending))) {
      if (how === 'first') queue.putBack(own)
      else if (how === 'later') queue.putBackLater(own)
      else if (how === 'half') queue.putBackHalf(own)
      else queue.putBackHalved(own)
    }
  }

  /** Something was paused, or goes on: what waits in another's place goes to its own. */
  sortAnew(): void {
    for (const [name, queue] of this.all) {
      const moved = queue.takeOut(pending => this.nameOf(pending) !== name)
      const { later = [], first = [] } = Object.groupBy(moved, pending => (isBackingOff(pending) ? 'later' : 'first'))
      first.sort((a, b) => a.offset - b.offset)
      this.putBack(first, 'first')
      this.putBack(later, 'later')
    }
    for (const [name, queue] of this.#paused) if (queue.waiting === 0) this.#paused.delete(name)
  }

  /** An account's envelope left: the others come first. */
  turn(account: string): void {
    const queue = this.#queues.get(account)!
    this.#queues.delete(account)
    this.#queues.set(account, queue)
  }

  resume(session: Session): void {
    for (const [, queue] of this.all) queue.resume(session)
  }

  remove(session: Session): void {
    for (const [, queue] of this.all) queue.remove(session)
  }

  #queueOf(pending: Pending): LaneQueue {
    const name = this.nameOf(pending)
    const queues = name === pending.command.account ? this.#queues : this.#paused
    const queue = queues.get(name) ?? new LaneQueue(this.#weights)
    queues.set(name, queue)
    return queue
  }
}

const isBackingOff = (pending: Pending) => pending.throttled !== undefined || isSuspect(pending)
