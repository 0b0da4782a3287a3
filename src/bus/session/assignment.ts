import type { TopicPartition } from '../port.ts'

/** Assignment is what the leader of a group decides. */
export interface Assignment {
  /** The partitions of each member, by its id. */
  shares: ReadonlyMap<string, readonly TopicPartition[]>
  /** How many partitions each of the group's topics has: who does not lead hears nothing of the others' topics. */
  counts: ReadonlyMap<string, number>
  /** The names of the processes that are members now. */
  processes: readonly string[]
}

/** Given is what a member is told of the leader's decision. */
export interface Given {
  partitions: readonly TopicPartition[]
  /** How many partitions each of the group's topics has. */
  counts: ReadonlyMap<string, number>
  /** The names of the processes that are members now. */
  processes: readonly string[]
}

/** Subscription is what a member tells its leader about itself. */
export interface Subscription {
  topics: readonly string[]
  /** The name of its process; null: it only reads. */
  process: string | null
}

/**
 * Deals the topics' partitions in turn to the members that subscribed to them, in the order of their ids: what Kafka and
 * kafkajs call round robin.
 * @param subscriptions of each member, by its id
 */
export function assignInTurn(
  subscriptions: ReadonlyMap<string, Subscription>,
  counts: ReadonlyMap<string, number>,
): Assignment {
  const members = [...subscriptions.keys()].toSorted()
  const shares = new Map<string, TopicPartition[]>(members.map(memberId => [memberId, []]))
  let next = 0
  for (const [topic, count] of counts) {
    const readers = new Set(members.filter(memberId => subscriptions.get(memberId)!.topics.includes(topic)))
    if (readers.size === 0) continue
    for (let partition = 0; partition < count; partition++) {
      while (!readers.has(members[next % members.length]!)) next++
      shares.get(members[next++ % members.length]!)!.push({ topic, partition })
    }
  }
  const processes = [...subscriptions.values()].flatMap(({ process }) => process ?? [])
  return { shares, counts, processes }
}
