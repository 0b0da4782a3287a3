import { type Clock, systemClock } from '../../clock.ts'
import type { Committed } from '../driver.ts'
import { partitionOf } from '../murmur2.ts'
import type { BusRecord, OutgoingRecord, TopicPartition } from '../port.ts'
import { batchFrameBytes } from '../record-limits.ts'
import { recordSize } from '../record-size.ts'
import { timestampOf } from '../record-time.ts'
import { MemoryGroup } from './group.ts'

/** A partition's log. Offsets without a record are gaps, like transaction markers in Kafka. */
interface Log {
  records: BusRecord[]
  start: number
  end: number
}

const newLog = (): Log => ({ records: [], start: 0, end: 0 })

/** One epoch of a transactional id. */
export interface ProducerEpoch {
  id: string
  epoch: number
}

/** The records that a transaction writes, and the group's offsets that it commits. */
export interface Transaction {
  groupId: string
  records: readonly OutgoingRecord[]
  offsets: readonly (TopicPartition & Committed)[]
}

export interface TopicSpec {
  topic: string
  partitions: number
  /** Only cleanup.policy and max.message.bytes have an effect. */
  config?: Record<string, string>
}

/**
 * Topics, committed offsets and fencing in memory. Every change is one synchronous step, which makes a transaction atomic;
 * MemoryBus adds the asynchrony of a network.
 */
export class MemoryBroker {
  readonly clock: Clock
  readonly #logs = new Map<string, Log[]>()
  /** How often each topic was made anew. */
  readonly #recreated = new Map<string, number>()
  readonly #groups = new Map<string, MemoryGroup>()
  readonly #offsets = new Map<string, Committed>()
  readonly #epochs = new Map<string, number>()
  readonly #open = new Map<string, Transaction & { now: number }>()
  readonly #watchers = new Set<() => void>()
  readonly #maxMessageBytes = new Map<string, number>()
  #roundRobin = 0

  constructor(clock: Clock = systemClock) {
    this.clock = clock
  }

  /** The cleanup.policy of topics that have one of their own; the embedded broker deletes nothing. */
  readonly cleanup = new Map<string, string>()

  createTopics(specs: readonly TopicSpec[]): void {
    for (const { topic, partitions, config = {} } of specs) {
      if (this.#logs.has(topic)) continue
      this.#logs.set(topic, Array.from({ length: partitions }, newLog))
      if (config['cleanup.policy']) this.cleanup.set(topic, config['cleanup.policy'])
      if (config['max.message.bytes']) this.limit(topic, Number(config['max.message.bytes']))
    }
  }

  /** Deletes a topic with its records, and creates it anew. */
  recreate(topic: string, partitions = this.partitions(topic)!): void {
    this.#logs.set(topic, Array.from({ length: partitions }, newLog))
    this.#recreated.set(topic, (this.#recreated.get(topic) ?? 0) + 1)
  }

  /** Changes when the topic is made anew. */
  topicId(topic: string): string {
    return `${topic}#${this.#recreated.get(topic) ?? 0}`
  }

  addPartitions(topic: string, count: number): void {
    const logs = this.#logs.get(topic)!
    while (logs.length < count) logs.push(newLog())
  }

  partitions(topic: string): number | undefined {
    return this.#logs.get(topic)?.length
  }

  /** Infinity if not set. */
  maxMessageBytes(topic: string): number {
    return this.#maxMessageBytes.get(topic) ?? Number.POSITIVE_INFINITY
  }

  /** Refuses larger records from now on, as Kafka does. */
  limit(topic: string, maxMessageBytes: number): void {
    this.#maxMessageBytes.set(topic, maxMessageBytes)
  }

  /** Calls the watcher after every change that readers may wait for. @returns a function that ends this */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  append(records: readonly OutgoingRecord[], now: number): void {
    this.#write(records, now)
    for (const watcher of this.#watchers) watcher()
  }

  /** Writes into a transaction, invisible until the transaction ends. */
  write(producer: ProducerEpoch, transaction: Transaction, now: number): void {
    this.#checkEpoch(producer)
    for (const record of transaction.records) this.#target(record)
    this.#open.set(producer.id, { ...transaction, now })
  }

  /**
   * Commits the open transaction: its records, a marker on each partition with records, and the group's offsets. @returns the
   * transaction
   */
  endTransaction(producer: ProducerEpoch): Transaction {
    this.#checkEpoch(producer)
    const { groupId, records, offsets, now } = this.#open.get(producer.id)!
    const touched = this.#write(records, now)
    this.#open.delete(producer.id)
    for (const log of touched) log.end++
    for (const { topic, partition, offset, metadata } of offsets) {
      this.#offsets.set(`${groupId}/${topic}/${partition}`, { offset, metadata })
    }
    for (const watcher of this.#watchers) watcher()
    return { groupId, records, offsets }
  }

  /** Aborts open transactions that hold an offset of the group for the partition, and fences their producers. */
  abort(groupId: string, { topic, partition }: TopicPartition): void {
    for (const [id, one] of this.#open) {
      const holds = one.offsets.some(part => part.topic === topic && part.partition === partition)
      if (one.groupId === groupId && holds) this.fence(id)
    }
  }

  /** Fences all earlier producers of the transactional id and aborts their transaction. @returns the new epoch */
  fence(id: string): number {
    const epoch = (this.#epochs.get(id) ?? 0) + 1
    this.#epochs.set(id, epoch)
    this.#open.delete(id)
    return epoch
  }

  group(groupId: string): MemoryGroup {
    const group = this.#groups.get(groupId) ?? new MemoryGroup(this.clock)
    this.#groups.set(groupId, group)
    return group
  }

  committed(group: string, { topic, partition }: TopicPartition): Committed | null {
    return this.#offsets.get(`${group}/${topic}/${partition}`) ?? null
  }

  /** Commits the offset without metadata, as `kafka-consumer-groups --reset-offsets` does. */
  resetOffset(group: string, { topic, partition }: TopicPartition, offset: number): void {
    this.#offsets.set(`${group}/${topic}/${partition}`, { offset, metadata: '' })
  }

  read({ topic, partition }: TopicPartition, from: number, most: number): { records: BusRecord[]; next: number } {
    const log = this.#log(topic, partition)
    const start = log.records.findLastIndex(({ offset }) => offset < from) + 1 // readers are near the end
    const records = log.records.slice(start, start + most)
    const complete = start + records.length === log.records.length
    return { records, next: complete ? log.end : records.at(-1)!.offset + 1 }
  }

  start({ topic, partition }: TopicPartition): number {
    return this.#log(topic, partition).start
  }

  /** Truncates the log. A new `start` simulates retention or DeleteRecords; a new `end`, an unclean leader election. */
  cut({ topic, partition }: TopicPartition, { start, end }: { start?: number; end?: number }): void {
    const log = this.#log(topic, partition)
    log.end = Math.min(log.end, end ?? log.end)
    log.start = Math.min(Math.max(log.start, start ?? log.start), log.end)
    log.records = log.records.filter(({ offset }) => offset >= log.start && offset < log.end)
    for (const watcher of this.#watchers) watcher()
  }

  end({ topic, partition }: TopicPartition): number {
    return this.#log(topic, partition).end
  }

  /** The first offset with at least this timestamp, or the end. */
  offsetAt({ topic, partition }: TopicPartition, timestamp: number): number {
    const { records, end } = this.#log(topic, partition)
    return records.find(record => record.timestamp >= timestamp)?.offset ?? end
  }

  #write(records: readonly OutgoingRecord[], now: number): Set<Log> {
    const targets = records.map(record => this.#target(record)) // checks all records before writing any
    const timestamp = timestampOf(now)
    records.forEach(({ topic, key, value, headers = {}, written }, i) => {
      const { log, partition } = targets[i]!
      const offset = log.end++
      log.records.push({ offset, timestamp, key: key === null ? null : Buffer.from(key), value, headers })
      written?.({ topic, partition, offset })
    })
    return new Set(targets.map(({ log }) => log))
  }

  #target(record: OutgoingRecord): { log: Log; partition: number } {
    const { topic, key } = record
    if (batchFrameBytes + recordSize(record) > this.maxMessageBytes(topic)) {
      throw Object.assign(new Error(`the record is larger than ${topic} takes`), { type: 'MESSAGE_TOO_LARGE' })
    }
    const count = this.partitions(topic) ?? 0
    const partition = record.partition ?? (key !== null ? partitionOf(key, count) : this.#roundRobin++ % count)
    return { log: this.#log(topic, partition), partition }
  }

  #log(topic: string, partition: number): Log {
    const log = this.#logs.get(topic)?.[partition]
    if (!log) throw new Error(`the embedded bus has no ${topic}/${partition}`)
    return log
  }

  #checkEpoch({ id, epoch }: ProducerEpoch): void {
    if (this.#epochs.get(id) !== epoch) {
      throw Object.assign(new Error(`${id} was fenced by a newer producer`), { type: 'INVALID_PRODUCER_EPOCH' })
    }
  }
}
