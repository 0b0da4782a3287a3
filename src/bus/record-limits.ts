import type { Telemetry } from '../telemetry/events.ts'
import type { OutgoingRecord } from './port.ts'
import { sizeInBatch } from './record-size.ts'

export interface RecordLimitsOptions {
  /** A topic's max.message.bytes as it is now; null: it cannot be told. Never fails. */
  ask: (topic: string) => Promise<number | null>
  telemetry: Telemetry
}

/** max.message.bytes of a topic and a broker that nobody has configured. */
export const usualMessageBytes = 1_048_588
/** Nobody is taken to allow less: the shortest version of every record of busgate fits. */
export const leastMessageBytes = 4096

/** Frame of a record batch, format v2. The limit is the batch's. */
export const batchFrameBytes = 61
/** A topic may have the broker compress what comes, which makes some batches longer. */
const marginShare = 1 / 64

/**
 * RecordLimits is what each topic takes at most in one batch: asked for once, before the first record goes there, and
 * again whenever a record was refused as too large. Where nobody tells, less is tried after each refusal, so that no
 * partition stands still, and a record that would have to become shorter asks again: the broker may only have been
 * busy.
 */
export class RecordLimits {
  readonly #options: RecordLimitsOptions
  readonly #asking = new Map<string, Promise<void>>()
  /** The limit of each topic as the brokers answered last; null: nobody could tell. */
  readonly #told = new Map<string, number | null>()
  /** The limit of each topic that counts: the last answer, or what was tried since. */
  readonly #limits = new Map<string, number>()
  #changes = 0

  constructor(options: RecordLimitsOptions) {
    this.#options = options
  }

  /** Bytes that the records of one batch may have together, by `sizeInBatch`. */
  room(topic: string): number {
    const limit = this.#limit(topic)
    return Math.floor(limit * (1 - marginShare)) - batchFrameBytes
  }

  /**
   * Sends the records, shorter versions in the place of those that their topics do not take.
   * @throws what `send` throws; when that says that something was too large, the next time will be different
   */
  async produce(
    records: readonly OutgoingRecord[],
    send: (fitting: readonly OutgoingRecord[]) => Promise<void>,
  ): Promise<void> {
    const unknown = this.#unknownOf(records)
    if (unknown.size > 0) await Promise.all([...unknown].map(topic => this.#askOnce(topic)))
    const changes = this.#changes
    const fitting = records.map(record => this.#fit(record))
    try {
      await send(fitting)
    } catch (error) {
      if (saysTooLarge(error)) await this.#refused(fitting, changes)
      throw error
    }
  }

  #fit(record: OutgoingRecord): OutgoingRecord {
    const { topic, shorter } = record
    if (!shorter || sizeInBatch(record) <= this.room(topic)) return record
    this.#options.telemetry.emit('record.shortened', { topic })
    return shorter()
  }

  /** The topics that are to be asked for before the records go there. */
  #unknownOf(records: readonly OutgoingRecord[]): Set<string> {
    const unknown = new Set<string>()
    for (const record of records) {
      const { topic, shorter } = record
      const told = this.#told.get(topic)
      const matters = () => shorter !== undefined && sizeInBatch(record) > this.room(topic)
      if (told === undefined || (told === null && matters())) unknown.add(topic)
    }
    return unknown
  }

  #askOnce(topic: string): Promise<void> {
    const asking = this.#asking.get(topic) ?? this.#learn(topic).finally(() => this.#asking.delete(topic))
    this.#asking.set(topic, asking)
    return asking
  }

  async #learn(topic: string): Promise<void> {
    const told = (await this.#options.ask(topic)) ?? this.#told.get(topic) ?? null
    if (told === this.#told.get(topic)) return
    this.#told.set(topic, told)
    if (told === null) return
    this.#limits.set(topic, told)
    this.#changes++
  }

  /** @param changes how many there had been when the records were made to fit: after another one they are made to fit anew */
  async #refused(records: readonly OutgoingRecord[], changes: number): Promise<void> {
    const sent = new Map<string, number>()
    for (const record of records) sent.set(record.topic, (sent.get(record.topic) ?? 0) + sizeInBatch(record))
    await Promise.all([...sent.keys()].map(topic => this.#learn(topic)))
    const explained = records.some(record => sizeInBatch(record) > this.room(record.topic))
    if (explained || this.#changes > changes) return
    const batches = [...sent]
      .filter(([topic]) => this.#limit(topic) > leastMessageBytes)
      .map(([topic, bytes]) => ({ topic, bytes: Math.min(bytes, this.room(topic)) }))
    const [largest] = batches.sort((a, b) => b.bytes - a.bytes)
    if (!largest) return
    this.#limits.set(largest.topic, Math.max(leastMessageBytes, Math.floor(largest.bytes / 2)))
    this.#changes++
  }

  #limit(topic: string): number {
    return this.#limits.get(topic) ?? usualMessageBytes
  }
}

const tooLarge: readonly unknown[] = ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']

function saysTooLarge(error: unknown): boolean {
  const { type, cause } = (error ?? {}) as { type?: unknown; cause?: unknown }
  return tooLarge.includes(type) || (cause !== undefined && saysTooLarge(cause))
}
