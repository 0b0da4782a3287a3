import { hash } from 'node:crypto'
import { KeyedTopic } from '../../bus/keyed-topic.ts'
import type { Bus, BusRecord, OutgoingRecord, TopicPartition, Unreadable } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { type LaterEntry, readLater } from '../../records/later.ts'
import type { Telemetry } from '../../telemetry/events.ts'

/** A record of the table; null for one that cannot be read. */
export type TakeEntry = (entry: LaterEntry | null, place: { partition: number; offset: number }) => void

export interface LaterTableOptions {
  bus: Pick<Bus, 'follow' | 'recordsAt' | 'search' | 'lookAt' | 'firstTimes'>
  topic: string
  clock: Clock
  telemetry: Telemetry
}

interface Reader {
  tp: TopicPartition
  from: number
  take: TakeEntry
  done: PromiseWithResolvers<void>
}

/** So few that they die young: records that outlive two collections cost more than the requests that larger pieces save. */
const pieceBytes = 512 * 1024

/** Reads the topic of waiting commands, a compacted table that the sessions of all processes share. */
export class LaterTable {
  readonly topic: string
  readonly #bus: LaterTableOptions['bus']
  readonly #looks: KeyedTopic
  readonly #telemetry: Telemetry
  /** Who waits to read a partition; it is read once for all who came before. */
  readonly #waiting = new Map<number, Reader[]>()

  constructor({ bus, topic, clock, telemetry }: LaterTableOptions) {
    this.#bus = bus
    this.topic = topic
    this.#looks = new KeyedTopic(bus, topic, clock)
    this.#telemetry = telemetry
  }

  /**
   * Names the topic among those of other names, and those of the same name that were deleted: offsets are of one of them.
   * @param maxAgeMs how old the answer may be
   * @throws Error when the topic does not exist, or cannot be looked up now
   */
  async identity(maxAgeMs?: number): Promise<string> {
    await this.#looks.look(maxAgeMs)
    return hash('sha256', `${this.topic}\n${this.#looks.id}`).slice(0, 16)
  }

  /** Where a command partition's commands wait if it has none yet. Call `identity` before. */
  partitionFor({ partition }: TopicPartition): number {
    return partition % this.#looks.partitions
  }

  /**
   * Takes the records about one command partition, and what cannot be read, in their order, up to those that were committed before
   * the call.
   * @param partition of the table; null for all
   * @throws Error when the table cannot be read
   */
  async read(tp: TopicPartition, partition: number | null, from: number, take: TakeEntry): Promise<void> {
    if (partition === null) await this.#looks.look() // some may have been added
    const all = partition === null ? Array.from({ length: this.#looks.partitions }, (_, i) => i) : [partition]
    await Promise.all(all.map(one => this.#ask(one, { tp, from, take, done: Promise.withResolvers() })))
  }

  /** Reads records at these offsets. @param offsets in ascending order */
  recordsAt(partition: number, offsets: readonly number[]): ReturnType<Bus['recordsAt']> {
    return this.#bus.recordsAt({ topic: this.topic, partition }, offsets)
  }

  #ask(partition: number, reader: Reader): Promise<void> {
    const waiting = this.#waiting.get(partition)
    if (waiting) waiting.push(reader)
    else {
      this.#waiting.set(partition, [reader])
      void this.#serve(partition)
    }
    return reader.done.promise
  }

  async #serve(partition: number): Promise<void> {
    const waiting = this.#waiting.get(partition)!
    await Promise.resolve() // includes readers of the same tick
    while (waiting.length > 0) {
      const readers = waiting.splice(0)
      const error = await this.#pass(partition, readers).then(
        () => null,
        (error: Error) => error,
      )
      for (const { done } of readers) {
        if (error) done.reject(error)
        else done.resolve()
      }
    }
    this.#waiting.delete(partition)
  }

  async #pass(partition: number, readers: readonly Reader[]): Promise<void> {
    const from = readers.reduce((least, reader) => Math.min(least, reader.from), Number.POSITIVE_INFINITY)
    const take = (records: readonly BusRecord[]) => {
      for (const record of records) {
        if (record.unreadable) this.#tellDamage(partition, record.unreadable)
        const entry = readLater(record)
        if (!entry && !record.unreadable) continue
        for (const { tp, take } of readers)
          if (!entry || isOf(tp, entry)) take(entry, { partition, offset: record.offset })
      }
    }
    const tp = { topic: this.topic, partition }
    const ending = new AbortController().signal
    const query = { from: { offset: from }, ending, pieceBytes, take: async (some: readonly BusRecord[]) => take(some) }
    const { until } = await this.#bus.search(tp, query) // up to the first transaction that is open
    const follower = await this.#bus.follow(tp, { offset: until }, take)
    try {
      await follower.caughtUp('behind open transactions')
    } finally {
      await follower.close()
    }
  }

  #tellDamage(partition: number, { message }: Unreadable): void {
    this.#telemetry.emit('bus.log', {
      level: 'error',
      message: `${this.topic}/${partition}: ${message} ${damageText}`,
    })
  }
}

const damageText =
  'Commands whose records are there are not sent and have no result; of others that may have ended there, nobody can tell.'

const isOf = ({ topic, partition }: TopicPartition, { key }: LaterEntry): boolean =>
  key.partition === partition && key.topic === topic

/** Calls back with the record's place on the table. */
export const whenWritten = (record: OutgoingRecord, written: (offset: number) => void): OutgoingRecord => {
  const told = (one: OutgoingRecord): OutgoingRecord => ({ ...one, written: ({ offset }) => written(offset) })
  const { shorter } = record
  return { ...told(record), ...(shorter && { shorter: () => told(shorter()) }) }
}
