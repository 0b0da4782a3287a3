import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import type { Controls } from '../../control/controls.ts'
import type { Pending } from '../pending.ts'
import { DeferredCommands, type DeferredCommandsOptions } from './deferred-commands.ts'
import { Lane, type Requeue } from './lane.ts'
import type { LaneQueue } from './lane-queue.ts'

export interface LanesOptions extends DeferredCommandsOptions {
  /** Topics of commands, the doubts among them, in order of urgency. */
  topics: readonly string[]
  /** Of tenants, where they are not 1. */
  tenantWeights: ReadonlyMap<string, number>
  controls: Controls
}

/** All commands that wait to be sent: in memory by lane and account, over the partitions; left on the log by partition. */
export class Lanes {
  readonly #options: LanesOptions
  /** The most urgent one comes first. */
  readonly #lanes: readonly Lane[]
  readonly #deferred = new Map<Session, DeferredCommands>()

  constructor(options: LanesOptions) {
    this.#options = options
    this.#lanes = options.topics.map(() => new Lane(options.tenantWeights, options.controls))
  }

  at(urgency: number): Lane {
    return this.#lanes[urgency]!
  }

  /** Tells what waits in memory for an account. */
  of({ name }: Account): LaneQueue[] {
    return this.#lanes.flatMap(lane => lane.of(name) ?? [])
  }

  add(session: Session): void {
    this.#deferred.set(session, new DeferredCommands(session, this.#laneOf(session), this.#options))
  }

  /** The partition is open again. */
  resume(session: Session): void {
    if (this.#deferred.has(session)) this.#laneOf(session).resume(session)
  }

  /** What waits on the session is forgotten: whoever owns the partition next reads it again. */
  remove(session: Session): void {
    if (this.#deferred.delete(session)) this.#laneOf(session).remove(session)
  }

  /** The records before this offset are gone from the session's log. */
  forgetBefore(session: Session, offset: number): void {
    this.#deferred.get(session)?.forgetBefore(offset)
  }

  /** Commands of one session. */
  push(pendings: readonly Pending[]): void {
    const { session } = pendings[0]!
    const deferred = this.#deferred.get(session)
    if (!deferred) return
    const lane = this.#laneOf(session)
    for (const pending of deferred.takeIn(pendings)) lane.push(pending)
  }

  /** Takes back what was in an envelope, as far as its partitions are not lost. */
  putBack(pendings: readonly Pending[], how: Requeue): void {
    const ours = pendings.filter(({ session }) => this.#deferred.has(session))
    if (ours.length > 0) this.#laneOf(ours[0]!.session).putBack(ours, how)
  }

  /** Something was paused, or goes on. */
  sortAnew(): void {
    for (const lane of this.#lanes) lane.sortAnew()
  }

  /**
   * Looks at all that waits in memory, and takes out what is not to be sent any more.
   * @returns whether anything is left
   */
  sweep(accept: (pending: Pending) => boolean): boolean {
    const queues = this.#lanes.flatMap(lane => lane.all.map(([, queue]) => queue))
    for (const queue of queues) queue.takeOut(pending => !accept(pending))
    return queues.some(({ waiting }) => waiting > 0)
  }

  /**
   * Keeps accounts that may not send, and what is paused, from filling the memory.
   * @returns milliseconds until it is to do so again
   */
  balance(): number {
    const held = this.#held
    let wait = Number.POSITIVE_INFINITY
    for (const deferred of this.#deferred.values()) {
      if (held.size > 0 || !deferred.isEmpty) wait = Math.min(wait, deferred.balance(held))
    }
    return wait
  }

  /**
   * The names of the queues of which nothing may be sent now. Nobody needs room beside the only account, but behind what is
   * paused deadlines go on. Pauses of which nothing waits have no queue: they may be many.
   */
  get #held(): Set<string> {
    const { accounts } = this.#options
    const held = new Set<string>()
    for (const lane of this.#lanes) for (const [key] of lane.paused) held.add(key)
    if (accounts.size > 1) for (const account of accounts.values()) if (!account.mayGo) held.add(account.name)
    return held
  }

  /** Tells whether commands wait that are paused, or for an account that may not send now. */
  get heldBack(): boolean {
    const isPaused = this.#lanes.some(lane => [...lane.paused].some(([, queue]) => queue.waiting > 0))
    return isPaused || this.#isAccountHeldBack
  }

  get #isAccountHeldBack(): boolean {
    return [...this.#options.accounts.values()].some(account => {
      const queues = this.of(account)
      const isAnyWaiting = queues.some(({ waiting }) => waiting > 0) || this.#hasDeferred(account)
      return isAnyWaiting && !account.mayGo
    })
  }

  #hasDeferred({ name }: Account): boolean {
    return [...this.#deferred.values()].some(deferred => deferred.has(name))
  }

  /** The append time, in milliseconds since 1970, of the oldest command of a topic that waits to be sent and is not paused. */
  oldestTimestamp(topic: string): number | null {
    const lane = this.#lanes[this.#options.topics.indexOf(topic)]
    const queues = [...(lane?.queues ?? [])].map(([, queue]) => queue)
    const deferred = [...this.#deferred].flatMap(([session, one]) => (session.topic === topic ? one : []))
    const times = [...queues, ...deferred].map(({ oldestTimestamp }) => oldestTimestamp ?? Number.POSITIVE_INFINITY)
    const least = Math.min(...times)
    return Number.isFinite(least) ? least : null
  }

  #laneOf({ topic }: Session): Lane {
    const lane = this.#lanes[this.#options.topics.indexOf(topic)]
    if (!lane) throw new Error(`${topic} is not a command topic`)
    return lane
  }
}
