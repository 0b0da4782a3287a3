import type { BusRecord, OutgoingRecord, Session, TopicPartition } from '../bus/port.ts'
import { longestError } from '../records/result.ts'
import type { Telemetry } from '../telemetry/events.ts'

/** A record must stay below the broker's message.max.bytes (1 MiB by default), headers included. */
const largestValue = 900_000

export interface DeadLetterReason {
  stage: 'decode' | 'callback'
  code: string
  message: string
}

/**
 * The record as it came, with headers that say why it is here. A value too large to be written again is left out;
 * its coordinates tell where it is.
 */
export function deadLetter(
  topic: string,
  from: TopicPartition,
  record: BusRecord,
  reason: DeadLetterReason,
): OutgoingRecord {
  const { key, value, headers, offset, timestamp } = record
  const tooLarge = value !== null && value.length > largestValue
  const note = tooLarge ? ` (the value of ${value.length} bytes is too large to be copied)` : ''
  return {
    topic,
    key,
    value: tooLarge ? null : value,
    headers: {
      ...headers,
      'busgate.error.stage': reason.stage,
      'busgate.error.code': reason.code,
      'busgate.error.message': reason.message.slice(0, longestError) + note,
      'busgate.error.topic': from.topic,
      'busgate.error.partition': String(from.partition),
      'busgate.error.offset': String(offset),
      'busgate.error.timestamp': String(timestamp),
    },
  }
}

/** The record that a dead letter is about; null where its headers do not say. */
export function originOfLetter({
  headers,
}: BusRecord): (TopicPartition & { offset: number; timestamp: number }) | null {
  const [topic, partition, offset, timestamp] = ['topic', 'partition', 'offset', 'timestamp'].map(
    name => headers[`busgate.error.${name}`],
  )
  if (!topic) return null
  return { topic: String(topic), partition: Number(partition), offset: Number(offset), timestamp: Number(timestamp) }
}

/** Buries undecodable records of one session, and counts them for telemetry. */
export class Graveyard {
  readonly #topic: string
  readonly #session: Session
  readonly #counts = new Map<string, number>()

  constructor(topic: string, session: Session) {
    this.#topic = topic
    this.#session = session
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  bury(record: BusRecord, error: { code: string; message: string }): void {
    const letter = deadLetter(this.#topic, this.#session, record, { stage: 'decode', ...error })
    this.#session.settle(record.offset, [letter])
    this.#counts.set(error.code, (this.#counts.get(error.code) ?? 0) + 1)
  }

  /** To be called when the dead letters are committed. */
  announce(telemetry: Telemetry): void {
    for (const [code, count] of this.#counts) telemetry.emit('deadLetter.published', { stage: 'decode', code, count })
  }
}
