import type { Bus, SessionState, TopicPartition } from './port.ts'

/**
 * A map keyed by topic and partition. Nested maps spare a key string for each look-up; a fetch makes one look-up per
 * partition.
 */
export class PartitionMap<T> implements Iterable<T> {
  readonly #topics = new Map<string, Map<number, T>>()
  size = 0

  get({ topic, partition }: TopicPartition): T | undefined {
    return this.#topics.get(topic)?.get(partition)
  }

  set({ topic, partition }: TopicPartition, value: T): void {
    const ofTopic = this.#topics.get(topic) ?? new Map<number, T>()
    this.#topics.set(topic, ofTopic)
    if (!ofTopic.has(partition)) this.size++
    ofTopic.set(partition, value)
  }

  delete({ topic, partition }: TopicPartition): void {
    if (this.#topics.get(topic)?.delete(partition)) this.size--
  }

  clear(): void {
    this.#topics.clear()
    this.size = 0
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const ofTopic of this.#topics.values()) yield* ofTopic.values()
  }
}

/** `topic/partition` */
export const placeName = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

export function allPartitions(topic: string, count: number): TopicPartition[] {
  return Array.from({ length: count }, (_, partition) => ({ topic, partition }))
}

/**
 * Number of partitions of each topic that a role needs.
 * @throws Error that names the topics that are missing or hidden from this client
 */
export async function partitionsOf(
  bus: Pick<Bus, 'partitions'>,
  topics: readonly string[],
): Promise<Map<string, number>> {
  const partitions = await bus.partitions(topics)
  const missing = topics.filter(topic => !partitions.has(topic))
  if (missing.length > 0) throw missingOnBus(missing)
  return partitions
}

/** The error for topics that are missing or hidden from this client. */
export function missingOnBus(topics: readonly string[]): Error {
  return new Error(
    `missing on the bus: ${topics.join(', ')}; create them with busgate topics create, correct the topics.* settings, ` +
      'or grant this client Describe on them',
  )
}

const mostNamed = 5

/** Names the partitions whose session is not open, in one sentence; empty if all are open. */
export function notOpen(sessions: Iterable<SessionState>): string[] {
  const closed = [...sessions].filter(({ open }) => !open)
  if (closed.length === 0) return []
  const named = closed.slice(0, mostNamed).map(placeName)
  const others = closed.length - named.length
  return [
    `${named.join(', ')}${others > 0 ? ` and ${others} more` : ''} ${closed.length === 1 ? 'is' : 'are'} not open`,
  ]
}
