import type { TopicPartition } from './port.ts'

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
