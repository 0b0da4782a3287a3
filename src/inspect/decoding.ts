import type { BusRecord, TopicPartition } from '../bus/port.ts'
import { type Clock, systemClock } from '../clock.ts'
import { createDecoder, type Decoded, type Decoder } from '../records/decoder.ts'
import type { SchemaRegistry } from '../records/registry.ts'
import { count, cut } from '../words.ts'

/** How long a schema that could not be loaded is not requested again. */
const failedMs = 60_000
/** With more such schemas, none is requested: foreign bytes can name any number, and an outage delays each request. */
const mostFailed = 4
const longestReason = 500

/**
 * Decodes records that people look at, one at a time, so that only one is in memory. A record that cannot be decoded now, for
 * whatever reason, is counted and passed over.
 */
export class RecordReader<T> {
  readonly #decoder: Decoder<T>
  readonly #undecodable: UndecodableRecords
  readonly #clock: Clock
  /** When, in monotonic milliseconds, and why the schemas could not be loaded. */
  readonly #failed = new Map<number, { at: number; error: Error }>()

  constructor(schema: object, registry: SchemaRegistry, undecodable = new UndecodableRecords(), clock = systemClock) {
    this.#decoder = createDecoder<T>(schema, registry, { clock })
    this.#undecodable = undecodable
    this.#clock = clock
  }

  /** Passes on each record that can be decoded. Call it for one batch of records at a time. */
  async each(
    tp: TopicPartition,
    records: readonly BusRecord[],
    take: (value: T, record: BusRecord) => Promise<void> | void,
  ): Promise<void> {
    for (const record of records) {
      const value = await this.read(tp, record)
      if (value !== null) await take(value, record)
    }
  }

  /** Decodes one record; null if it cannot be decoded. Never rejects. */
  async read(tp: TopicPartition, record: BusRecord): Promise<T | null> {
    const decoded = await this.decode(record)
    if (decoded.ok) return decoded.value
    this.#undecodable.add({ ...tp, offset: record.offset }, decoded.why)
    return null
  }

  /** Decodes one record without counting it. Never rejects. */
  async decode({ value, unreadable }: BusRecord): Promise<{ ok: true; value: T } | { ok: false; why: string }> {
    try {
      if (unreadable) return { ok: false, why: unreadable.message }
      const first = this.#decoder.decode(value)
      if (first.ok || 'error' in first) return outcomeOf(first)
      await this.#load(first.pending)
      return outcomeOf(this.#decoder.decode(value))
    } catch (error) {
      return { ok: false, why: (error as Error).message }
    }
  }

  async #load(schemaId: number): Promise<void> {
    const now = this.#clock.monotonic()
    for (const [id, { at }] of this.#failed) if (at + failedMs <= now) this.#failed.delete(id)
    const known = this.#failed.get(schemaId)
    if (known) throw known.error
    if (this.#failed.size >= mostFailed) throw [...this.#failed.values()].at(-1)!.error
    try {
      await this.#decoder.prepare(schemaId)
    } catch (error) {
      this.#failed.set(schemaId, { at: this.#clock.monotonic(), error: error as Error })
      throw error
    }
  }
}

function outcomeOf<T>(decoded: Decoded<T>): { ok: true; value: T } | { ok: false; why: string } {
  if (decoded.ok) return decoded
  return { ok: false, why: 'error' in decoded ? decoded.error.message : 'its schema is not known' }
}

interface OfTopic {
  count: number
  /** The first of them. */
  place: string
  why: string
}

/** Counts the records that could not be decoded. Keeps the first place and reason for each topic. */
export class UndecodableRecords {
  readonly #topics = new Map<string, OfTopic>()

  add({ topic, partition, offset }: TopicPartition & { offset: number }, why: string): void {
    const known = this.#topics.get(topic)
    if (known) known.count++
    else this.#topics.set(topic, { count: 1, place: `${topic}/${partition}@${offset}`, why: cut(why, longestReason) })
  }

  get count(): number {
    return [...this.#topics.values()].reduce((sum, one) => sum + one.count, 0)
  }

  /** A sentence for each topic that has such records. */
  get texts(): string[] {
    return [...this.#topics].map(([topic, one]) => {
      if (one.count === 1) return `${one.place} cannot be decoded: ${one.why}`
      return `${count(one.count, 'record')} of ${topic} cannot be decoded, the first at ${one.place}: ${one.why}`
    })
  }
}
