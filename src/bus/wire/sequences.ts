import type { TopicPartition } from '../port.ts'

/** Numbers begin anew behind it. */
const mask = 0x7fffffff

/**
 * Sequences says how many records an epoch of a producer has written to each partition, by which brokers know a batch
 * that is sent again.
 */
export class Sequences {
  readonly #next = new Map<string, number>()

  /** @returns the number of the first of so many records */
  take({ topic, partition }: TopicPartition, count: number): number {
    const key = `${topic}/${partition}`
    const first = this.#next.get(key) ?? 0
    this.#next.set(key, (first + count) & mask)
    return first
  }
}
