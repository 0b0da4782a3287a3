import type { BusRecord, OutgoingRecord, Session, TopicPartition } from '../bus/port.ts'
import { headersSize } from '../bus/record-size.ts'
import { inVersions } from '../bus/shorter.ts'
import { longestError } from '../records/result.ts'
import type { RecordPlace, Telemetry } from '../telemetry/events.ts'
import type { Origin } from './pending.ts'

/** On a dead letter whose key is not that of the record. */
const keylessHeader = 'busgate.error.key'

/** Why a record cannot be worked on; nothing of its content. */
export interface Unreadable {
  code: string
  message: string
}

export interface DeadLetterReason extends Unreadable {
  stage: 'decode'
}

/**
 * The record as it came, with headers that say why it is here. Where that is too large for the topic, its value is left
 * out, then its own headers, then its key: its coordinates tell where all of it is. For a batch that cannot be read stands
 * one dead letter without a value. Where there is no key its coordinates are one: a topic that somebody has set to be
 * compacted refuses records without a key, and the partition would stand still for ever.
 */
export function deadLetter(topic: string, { record, ...from }: Origin, reason: DeadLetterReason): OutgoingRecord {
  const { key, value, headers, offset, timestamp, unreadable } = record
  const lastOffset = unreadable?.lastOffset ?? offset
  const parts = Object.entries({ value: value?.length, headers: headersSize(headers), key: key?.length })
  const present = parts.filter(([, bytes = 0]) => bytes > 0)
  return inVersions(present.length, version => {
    const missing = Object.fromEntries(present.slice(0, version))
    const letterKey = missing.key ? null : key
    return {
      topic,
      key: letterKey ?? Buffer.from(`${from.topic}/${from.partition}@${offset}`),
      value: missing.value ? null : value,
      headers: {
        ...(missing.headers ? {} : headers),
        'busgate.error.stage': reason.stage,
        'busgate.error.code': reason.code,
        'busgate.error.message': reason.message.slice(0, longestError) + noteOn(missing),
        'busgate.error.topic': from.topic,
        'busgate.error.partition': String(from.partition),
        'busgate.error.offset': String(offset),
        ...(lastOffset > offset && { 'busgate.error.last-offset': String(lastOffset) }),
        'busgate.error.timestamp': String(timestamp),
        ...(letterKey === null && { [keylessHeader]: 'none' }),
      },
    }
  })
}

function noteOn(missing: Record<string, number | undefined>): string {
  const parts = Object.entries(missing).map(([part, bytes]) => `its ${part} of ${bytes} bytes`)
  return parts.length === 0 ? '' : ` (too large to be copied: ${parts.join(', ')})`
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
  /** How many by their codes, and where the first of them stands. */
  readonly #buried = new Map<string, { count: number; first: RecordPlace }>()

  constructor(topic: string, session: Session) {
    this.#topic = topic
    this.#session = session
  }

  get isEmpty(): boolean {
    return this.#buried.size === 0
  }

  bury(record: BusRecord, error: Unreadable): void {
    const { topic, partition } = this.#session
    this.buryInstead(record.offset, { topic, partition, record }, error)
  }

  /** The session's record at `offset` is done with a dead letter of the record that it is about, and `others`. */
  buryInstead(offset: number, origin: Origin, error: Unreadable, others: readonly OutgoingRecord[] = []): void {
    const letter = deadLetter(this.#topic, origin, { stage: 'decode', ...error })
    this.#session.settle(offset, [letter, ...others])
    const { topic, partition, record } = origin
    const { count, first } = this.#buried.get(error.code) ?? {
      count: 0,
      first: { topic, partition, offset: record.offset },
    }
    this.#buried.set(error.code, { count: count + 1, first })
  }

  /** To be called when the dead letters are committed. */
  announce(telemetry: Telemetry): void {
    for (const [code, { count, first }] of this.#buried) {
      telemetry.emit('deadLetter.published', { stage: 'decode', code, count, first })
    }
  }
}
