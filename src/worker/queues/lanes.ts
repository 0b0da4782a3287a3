import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import type { Controls } from '../../control/controls.ts'
import type { Pending } from '../pending.ts'
import { DeferredCommands, type DeferredCommandsOptions } from './deferred-commands.ts'
import { Lane, type Requeue } from './lane.ts'

export interface LanesOptions extends DeferredCommandsOptions {
  /** Command topics and the doubts topic, the most urgent first. */
  topics: readonly string[]
  /** Weights of tenants; others have 1. */
  tenantWeights: ReadonlyMap<string, number>
  controls: Controls
  /** Whether the account waits for slow answers. */
  isSlowed: (account: Account) => boolean
}

/** All unsent commands: those in memory, by lane and account, and those deferred to the log, by partition. */
export class Lanes {
  readonly #options: LanesOptions
  /** The most urgent lane comes first. */
  readonly #lanes: readonly Lane[]
  readonly #deferred = new Map<Session, DeferredCommands>()

  constructor(options: LanesOptions) {
    this.#options = options
    this.#lanes = options.topics.map(() => new Lane(options.tenantWeights, options.controls))
  }

  at(urgency: number): Lane {
    return this.#lanes[urgency]!
  }

  add(session: Session): void {
    this.#deferred.set(session, new DeferredCommands(session, this.#laneOf(session), this.#options))
  }

  /** Resumes a partition. */
  resume(session: Session): void {
    this.#laneOf(session).resume(session)
  }

  /** Drops the session's commands; the next owner of the partition reads them again. */
  remove(session: Session): void {
    this.#deferred.delete(session)
    this.#laneOf(session).remove(session)
  }

  /** Called when the log lost the records before this offset. */
  forgetBefore(session: Session, offset: number): void {
    this.#deferred.get(session)?.forgetBefore(offset)
  }

  /** Queues commands of one session. */
  push(pendings: readonly Pending[]): void {
    const { session } = pendings[0]!
    const deferred = this.#deferred.get(session)
    if (!deferred) return
    const lane = this.#laneOf(session)
    for (const pending of deferred.takeIn(pendings)) lane.push(pending)
  }

  /** Requeues the commands of an envelope, except those of lost partitions. */
  putBack(pendings: readonly Pending[], how: Requeue): void {
    const ours = pendings.filter(({ session }) => this.#deferred.has(session))
    if (ours.length > 0) this.#laneOf(ours[0]!.session).putBack(ours, how)
  }

  /** Applies changed pauses. */
  sortAnew(): void {
    for (const lane of this.#lanes) lane.sortAnew()
  }

  /** Takes out the commands of paused campaigns and tenants. */
  takeSetAside(): Pending[] {
    return this.#lanes.flatMap(lane => (lane.paused.size > 0 ? lane.takeSetAside() : []))
  }

  /**
   * Offers all commands in memory to `accept`, and removes those that it refuses.
   * @returns whether anything is left
   */
  sweep(accept: (pending: Pending) => boolean): boolean {
    const queues = this.#lanes.flatMap(lane => lane.all.map(([, queue]) => queue))
    for (const queue of queues) queue.takeOut(pending => !accept(pending))
    return queues.some(({ waiting }) => waiting > 0)
  }

  /**
   * Keeps paused commands, and accounts that may not send, from filling the memory.
   * @returns milliseconds until the next call
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
   * Names of the queues whose commands may be deferred: those of pauses, and of accounts that may not send now, or are slow. The
   * only account is left out, because no other commands need its memory. A pause is not, because commands behind it must be read
   * to expire in time. Pauses without commands have no queue, since there may be many.
   */
  get #held(): Set<string> {
    const { accounts, isSlowed } = this.#options
    if (accounts.size === 1) return new Set(this.#pauses)
    const slowed = [...accounts.values()].filter(isSlowed).map(({ name }) => name)
    return new Set([...this.#pauses, ...this.#blocked, ...slowed])
  }

  get #pauses(): string[] {
    return this.#lanes.flatMap(({ paused }) => [...paused.keys()])
  }

  /** Names of the accounts that may not send now. */
  get #blocked(): string[] {
    return [...this.#options.accounts.values()].flatMap(({ name, maySend }) => (maySend ? [] : name))
  }

  /** Whether commands wait that are paused, or whose account may not send now. */
  get heldBack(): boolean {
    const deferred = [...this.#deferred.values()]
    return [...this.#pauses, ...this.#blocked].some(
      name => this.#lanes.some(lane => lane.of(name)?.waiting) || deferred.some(one => one.has(name)),
    )
  }

  /** Number of unsent commands of a queue: of an account, or of a pause by its key. */
  waiting(name: string): number {
    const counts = [
      ...this.#lanes.map(lane => lane.of(name)?.waiting ?? 0),
      ...Array.from(this.#deferred.values(), deferred => deferred.count(name)),
    ]
    return counts.reduce((sum, count) => sum + count, 0)
  }

  /** Append time of the topic's oldest unsent command that is not paused, milliseconds since 1970; null if there is none. */
  oldestTimestamp(topic: string): number | null {
    const queues = [...this.#laneOf({ topic }).queues.values()]
    const deferred = [...this.#deferred].flatMap(([session, one]) => (session.topic === topic ? one : []))
    const least = Math.min(...[...queues, ...deferred].map(({ oldestTimestamp }) => oldestTimestamp))
    return Number.isFinite(least) ? least : null
  }

  #laneOf({ topic }: Pick<Session, 'topic'>): Lane {
    return this.#lanes[this.#options.topics.indexOf(topic)]!
  }
}
