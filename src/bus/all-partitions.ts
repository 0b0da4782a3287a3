import type { TopicPartition } from './port.ts'

/** The partitions of a topic that has so many. */
export function allPartitions(topic: string, count: number): TopicPartition[] {
  return Array.from({ length: count }, (_, partition) => ({ topic, partition }))
}
