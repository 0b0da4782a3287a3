import type { Bus, SessionState, TopicPartition } from './port.ts'

/** A map by partition. Looking up makes no text of topic and number, of which a fetch of many partitions would make many. */
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

/** The partitions of a topic that has so many. */
export function allPartitions(topic: string, count: number): TopicPartition[] {
  return Array.from({ length: count }, (_, partition) => ({ topic, partition }))
}

/**
 * Number of partitions of each topic that a role needs.
 * @throws Error that names the topics which do not exist, or may not be seen
 */
export async function partitionsOf(
  bus: Pick<Bus, 'partitions'>,
  topics: readonly string[],
): Promise<Map<string, number>> {
  const partitions = await bus.partitions(topics)
  const missing = topics.filter(topic => !partitions.has(topic))
  if (missing.length > 0) {
    throw new Error(
      `missing on the bus: ${missing.join(', ')}; create them with busgate topics create, correct the topics.* settings, ` +
        'or grant this client Describe on them',
    )
  }
  return partitions
}

/** At most this many partitions are named. */
const mostNamed = 5

/** Tells what to say of the partitions that are not open now, in one sentence; nothing where all are. */
export function notOpen(sessions: Iterable<SessionState>): string[] {
  const closed = [...sessions].filter(({ open }) => !open)
  if (closed.length === 0) return []
  const named = closed.slice(0, mostNamed).map(({ topic, partition }) => `${topic}/${partition}`)
  const others = closed.length - named.length
  return [
    `${named.join(', ')}${others > 0 ? ` and ${others} more` : ''} ${closed.length === 1 ? 'is' : 'are'} not open`,
  ]
}
