import type { TopicPartition } from '../port.ts'

/** Which partitions each member of a group is given, by member id. */
export type Assignment = ReadonlyMap<string, readonly TopicPartition[]>

/** Deals the topics' partitions to the members in turn, in the order of their ids: what kafkajs calls RoundRobinAssigner. */
export function assignInTurn(memberIds: readonly string[], partitions: ReadonlyMap<string, number>): Assignment {
  const members = memberIds.toSorted()
  const assignment = new Map<string, TopicPartition[]>(members.map(memberId => [memberId, []]))
  let next = 0
  for (const [topic, count] of partitions) {
    for (let partition = 0; partition < count; partition++) {
      assignment.get(members[next++ % members.length]!)!.push({ topic, partition })
    }
  }
  return assignment
}
