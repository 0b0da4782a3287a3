import type { Session } from '../../bus/port.ts'
import type { Controls } from '../../control/controls.ts'
import { isSuspect, type Pending } from '../pending.ts'
import { LaneQueue } from './lane-queue.ts'

/**
 * How to requeue commands that were not sent. `first`: at the front. `later`: after their back-off. `halved`: a refused
 * envelope as two halves, each an envelope. `half`: such a half unchanged.
 */
export type Requeue = 'first' | 'later' | 'half' | 'halved'

/**
 * Unsent commands of one topic by account. Accounts take turns, one envelope each. Paused commands wait separately, by the key
 * of their pause, so that they block no others.
 */
export class Lane {
  readonly #weights: ReadonlyMap<string, number>
  readonly #controls: Controls
  /** Queues by account name, the next one first. */
  readonly queues = new Map<string, LaneQueue>()
  /** Queues of paused commands, by the key of the pause. */
  readonly paused = new Map<string, LaneQueue>()

  /** @param weights by tenant; others have 1 */
  constructor(weights: ReadonlyMap<string, number>, controls: Controls) {
    this.#weights = weights
    this.#controls = controls
  }

  get all(): [string, LaneQueue][] {
    return [...this.queues, ...this.paused]
  }

  /** The name of a command's queue: its account, or the key of the pause that stops it. */
  nameOf({ command, topic }: Pending): string {
    return this.#controls.stopping(command, topic) ?? command.account
  }

  of(name: string): LaneQueue | undefined {
    return this.queues.get(name) ?? this.paused.get(name)
  }

  push(pending: Pending): void {
    this.#queueOf(pending).push(pending)
  }

  /** Requeues the commands of an envelope. */
  putBack(pendings: readonly Pending[], how: Requeue): void {
    for (const [queue, own] of Map.groupBy(pendings, pending => this.#queueOf(pending))) {
      if (how === 'first') queue.putBack(own)
      else if (how === 'later') queue.putBackLater(own)
      else if (how === 'half') queue.putBackHalf(own)
      else queue.putBackHalved(own)
    }
  }

  /** Applies changed pauses: moves commands to the queues where they belong now. */
  sortAnew(): void {
    for (const [name, queue] of this.all) {
      const moved = queue.takeOut(pending => this.nameOf(pending) !== name)
      const { later = [], first = [] } = Object.groupBy(moved, pending => (isBackingOff(pending) ? 'later' : 'first'))
      first.sort((a, b) => a.offset - b.offset)
      this.putBack(first, 'first')
      this.putBack(later, 'later')
    }
    for (const [name, queue] of this.paused) if (queue.waiting === 0) this.paused.delete(name)
  }

  /** Takes out what waits for the end of a pause where it holds up nobody. Doubts stay, since they are perhaps sent. */
  takeSetAside(): Pending[] {
    const taken: Pending[] = []
    for (const [name, queue] of this.paused) {
      const own = queue.takeOut(({ command, doubted }) => !doubted && this.#controls.isSetAside(command))
      for (const pending of own) taken.push(pending)
      if (queue.waiting === 0) this.paused.delete(name)
    }
    return taken
  }

  /** Moves an account to the end of the turns. */
  turn(account: string): void {
    const queue = this.queues.get(account)!
    this.queues.delete(account)
    this.queues.set(account, queue)
  }

  resume(session: Session): void {
    for (const [, queue] of this.all) queue.resume(session)
  }

  remove(session: Session): void {
    for (const [, queue] of this.all) queue.remove(session)
  }

  #queueOf(pending: Pending): LaneQueue {
    const name = this.nameOf(pending)
    const queues = name === pending.command.account ? this.queues : this.paused
    const queue = queues.get(name) ?? new LaneQueue(this.#weights)
    queues.set(name, queue)
    return queue
  }
}

const isBackingOff = (pending: Pending) => pending.throttled !== undefined || isSuspect(pending)
