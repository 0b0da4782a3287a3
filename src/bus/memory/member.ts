import type { Clock } from '../../clock.ts'
import type { GroupEvents } from '../session/driver.ts'
import type { Member, MemoryGroup } from './group.ts'

export interface MemoryMemberOptions {
  topics: readonly string[]
  group: MemoryGroup
  events: GroupEvents
  clock: Clock
  sessionTimeoutMs: number
  /** A step at the broker, over the network. */
  atBroker: <T>(name: string, step: () => T | Promise<T>) => Promise<T>
}

const longestHeartbeatIntervalMs = 1000
/** A lease is never longer than this, whatever the session time-out. */
const longestLeaseMs = 10_000

/** A process's membership: heartbeats, and joins again whenever their answers say so. */
export class MemoryMember implements Member {
  readonly topics: readonly string[]
  readonly sessionTimeoutMs: number
  /** As on Kafka: from the sending of the last answered heartbeat on, void while it joins. */
  leaseUntil = Number.NEGATIVE_INFINITY
  readonly #options: MemoryMemberOptions
  #left = false
  #endPause = () => {}

  constructor(options: MemoryMemberOptions) {
    this.#options = options
    this.topics = options.topics
    this.sessionTimeoutMs = options.sessionTimeoutMs
  }

  /** Resolves when the member has its first partitions and its lease. */
  join(): Promise<void> {
    return new Promise(joined => void this.#live(joined))
  }

  nudge(): void {
    this.#endPause()
  }

  async leave(): Promise<void> {
    this.stop()
    await this.#options.atBroker('leave', () => this.#options.group.leave(this))
  }

  /** Never to be heard of again. */
  stop(): void {
    this.#left = true
    this.leaseUntil = Number.NEGATIVE_INFINITY
    this.#endPause()
  }

  async #live(joined: () => void): Promise<void> {
    while (!this.#left) {
      if (await this.#heartbeat()) {
        joined()
        await this.#pause()
      } else await this.#join()
    }
  }

  /** @returns false when the member has to join. */
  async #heartbeat(): Promise<boolean> {
    const { atBroker, group, clock } = this.#options
    const sentAt = clock.monotonic()
    const steady = await atBroker('heartbeat', () => group.heartbeat(this))
    if (steady && !this.#left) this.leaseUntil = sentAt + Math.min(this.sessionTimeoutMs, longestLeaseMs)
    return steady
  }

  /** Takes its new partitions only if it is still a member by then. */
  async #join(): Promise<void> {
    const { atBroker, group, events } = this.#options
    await events.joining()
    this.leaseUntil = Number.NEGATIVE_INFINITY
    if (this.#left) return
    const partitions = await atBroker('join', () => group.join(this))
    if ((await this.#heartbeat()) && !this.#left) events.assigned(partitions)
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const ms = Math.min(longestHeartbeatIntervalMs, this.sessionTimeoutMs / 3)
      const cancel = this.#options.clock.after(ms, resolve)
      this.#endPause = () => {
        cancel()
        resolve()
      }
    })
  }
}
