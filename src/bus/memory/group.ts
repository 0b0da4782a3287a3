import type { TopicPartition } from '../port.ts'
import type { GroupEvents } from '../session/driver.ts'

export interface Member {
  topics: readonly string[]
  events: GroupEvents
  /** Void from the moment a re-join begins until the new assignment is there. */
  lease: boolean
}

/** One consumer group: every join and leave re-assigns all partitions, round robin, after all members have drained. */
export class MemoryGroup {
  readonly #members = new Set<Member>()
  readonly #partitions: (topic: string) => number
  #rebalancing = Promise.resolve()

  constructor(partitions: (topic: string) => number) {
    this.#partitions = partitions
  }

  join(member: Member): Promise<void> {
    return this.#rebalance(() => this.#members.add(member))
  }

  leave(member: Member): Promise<void> {
    return this.#rebalance(() => this.#members.delete(member))
  }

  /** The member is gone without a word. */
  lose(member: Member): Promise<void> {
    this.#members.delete(member)
    return this.#rebalance(() => {})
  }

  #rebalance(change: () => void): Promise<void> {
    this.#rebalancing = this.#rebalancing.then(async () => {
      await Promise.all([...this.#members].map(member => member.events.joining()))
      change()
      for (const member of this.#members) member.lease = false
      this.#assign()
    })
    return this.#rebalancing
  }

  #assign(): void {
    const members = [...this.#members]
    const assignments = new Map(members.map(member => [member, [] as TopicPartition[]]))
    let next = 0
    for (const topic of new Set(members.flatMap(member => member.topics))) {
      for (let partition = 0; partition < this.#partitions(topic); partition++) {
        assignments.get(members[next++ % members.length]!)!.push({ topic, partition })
      }
    }
    for (const [member, partitions] of assignments) {
      member.lease = true
      member.events.assigned(partitions)
    }
  }
}
