import { MemoryBroker, type Transaction } from '../../src/bus/memory/broker.ts'
import { allPartitions } from '../../src/bus/partitions.ts'
import type { BusRecord, OutgoingRecord, TopicPartition } from '../../src/bus/port.ts'
import type { Clock } from '../../src/clock.ts'

export interface BrokerEvents {
  committed(tp: TopicPartition, offset: number, metadata: string | null): void
  /** Called when a record becomes readable. */
  written(place: TopicPartition, record: BusRecord): void
}

/** The broker in memory. It reports everything that becomes visible on it. */
export class ObservedBroker extends MemoryBroker {
  readonly #events: BrokerEvents
  readonly #watched: TopicPartition[]
  readonly #seen: number[]
  /** Transactional ids, in the order of their last initialisation. */
  readonly ids = new Set<string>()

  constructor(clock: Clock, topics: ReadonlyMap<string, number>, watched: readonly string[], events: BrokerEvents) {
    super(clock)
    this.#events = events
    this.createTopics([...topics].map(([topic, partitions]) => ({ topic, partitions })))
    this.#watched = watched.flatMap(topic => allPartitions(topic, topics.get(topic)!))
    this.#seen = this.#watched.map(() => 0)
  }

  override addPartitions(topic: string, count: number): void {
    const known = this.partitions(topic)!
    super.addPartitions(topic, count)
    if (!this.#watched.some(tp => tp.topic === topic)) return
    for (const tp of allPartitions(topic, count).slice(known)) {
      this.#watched.push(tp)
      this.#seen.push(0)
    }
  }

  override append(records: readonly OutgoingRecord[], now: number): void {
    super.append(records, now)
    this.#reportWritten()
  }

  override endTransaction(...[producer]: Parameters<MemoryBroker['endTransaction']>): Transaction {
    const transaction = super.endTransaction(producer)
    for (const one of transaction.offsets) this.#events.committed(one, one.offset, one.metadata)
    if (transaction.records.length > 0) this.#reportWritten()
    return transaction
  }

  override fence(id: string): number {
    this.ids.delete(id)
    this.ids.add(id)
    return super.fence(id)
  }

  #reportWritten(): void {
    for (const [i, tp] of this.#watched.entries()) {
      const { records, next } = this.read(tp, this.#seen[i]!, 1000)
      this.#seen[i] = next
      for (const record of records) this.#events.written(tp, record)
    }
  }
}
