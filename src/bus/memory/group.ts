import type { Clock } from '../../clock.ts'
import type { TopicPartition } from '../port.ts'

/** A member as the group sees it. */
export interface Member {
  readonly topics: readonly string[]
  /** Silent for this long, it has lost its partitions. */
  readonly sessionTimeoutMs: number
  /** Send a heartbeat now: its answer brings news. */
  nudge(): void
}

export interface MemoryGroupOptions {
  partitions: (topic: string) => number
  clock: Clock
}

/**
 * The coordinator of one consumer group. Whoever comes or goes starts a round: all members drain and join again, the
 * silent ones are given up, and all partitions are assigned anew, round robin.
 */
export class MemoryGroup {
  readonly #options: MemoryGroupOptions
  /** When each member was last heard of, monotonic milliseconds. */
  readonly #heard = new Map<Member, number>()
  /** Members that have joined the round that is open. */
  readonly #joined = new Map<Member, (partitions: TopicPartition[]) => void>()
  #steady = true
  #cancelCheck = () => {}

  constructor(options: MemoryGroupOptions) {
    this.#options = options
  }

  /** Resolves with the member's partitions when the round is complete. */
  join(member: Member): Promise<TopicPartition[]> {
    this.#hear(member)
    return new Promise(resolve => {
      this.#joined.set(member, resolve)
      this.#openRound()
    })
  }

  /** @returns false when the member has to join again: it was given up, or a round is open. */
  heartbeat(member: Member): boolean {
    if (!this.#heard.has(member)) return false
    this.#hear(member)
    this.#giveUpSilent()
    return this.#steady
  }

  leave(member: Member): void {
    this.#joined.delete(member)
    if (this.#heard.delete(member)) this.#openRound()
  }

  #hear(member: Member): void {
    this.#heard.set(member, this.#options.clock.monotonic())
  }

  #giveUpSilent(): void {
    const now = this.#options.clock.monotonic()
    for (const [member, at] of this.#heard) {
      if (!this.#joined.has(member) && now - at > member.sessionTimeoutMs) this.leave(member)
    }
  }

  #openRound(): void {
    this.#steady = false
    this.#cancelCheck()
    if (this.#joined.size === this.#heard.size) {
      this.#assign()
      return
    }
    const missing = [...this.#heard].filter(([member]) => !this.#joined.has(member))
    for (const [member] of missing) member.nudge()
    const { clock } = this.#options
    const silentAt = Math.min(...missing.map(([member, at]) => at + member.sessionTimeoutMs))
    this.#cancelCheck = clock.after(Math.max(0, silentAt - clock.monotonic()) + 1, () => {
      this.#giveUpSilent()
      if (!this.#steady) this.#openRound()
    })
  }

  #assign(): void {
    this.#steady = true
    const members = [...this.#joined.keys()]
    const assignments = new Map(members.map(member => [member, [] as TopicPartition[]]))
    let next = 0
    for (const topic of new Set(members.flatMap(member => member.topics))) {
      for (let partition = 0; partition < this.#options.partitions(topic); partition++) {
        assignments.get(members[next++ % members.length]!)!.push({ topic, partition })
      }
    }
    for (const [member, resolve] of this.#joined) {
      this.#hear(member)
      resolve(assignments.get(member)!)
    }
    this.#joined.clear()
  }
}
