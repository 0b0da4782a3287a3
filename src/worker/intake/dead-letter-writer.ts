import type { BusRecord, OutgoingRecord, Session, Unreadable } from '../../bus/port.ts'
import { type DeadLetterReason, deadLetter, replayedFromHeader, stageOf } from '../../records/dead-letter.ts'
import {
  apicurioSettings,
  type Decoded,
  type DecodeError,
  type Decoder,
  isReadableLater,
  refusedForReplaysMs,
} from '../../records/decoder.ts'
import type { Origin } from '../../records/result.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { DeadLetterStage } from '../../telemetry/labels.ts'
import type { RecordPlace } from '../../telemetry/stable-events.ts'

/** Writes a session's undecodable records to the dead letters and counts them for telemetry. */
export class DeadLetterWriter {
  readonly #topic: string
  readonly #session: Session
  /** Number and first place, by code. */
  readonly #written = new Map<DeadLetterReason['code'], { stage: DeadLetterStage; count: number; first: RecordPlace }>()

  constructor(topic: string, session: Session) {
    this.#topic = topic
    this.#session = session
  }

  get isEmpty(): boolean {
    return this.#written.size === 0
  }

  write(record: BusRecord, reason: DeadLetterReason): void {
    const { topic, partition } = this.#session
    this.writeFor(record.offset, { topic, partition, record }, reason)
  }

  /** Settles the record at `offset` with a dead letter about its origin, and `others`. */
  writeFor(offset: number, origin: Origin, reason: DeadLetterReason, others: readonly OutgoingRecord[] = []): void {
    const letter = deadLetter(this.#topic, origin, reason)
    this.#session.settle(offset, [letter, ...others])
    const { topic, partition, record } = origin
    const { count, first } = this.#written.get(reason.code) ?? {
      count: 0,
      first: { topic, partition, offset: record.offset },
    }
    this.#written.set(reason.code, { stage: stageOf(reason), count: count + 1, first })
  }

  /** Emits the events; call it after the commit. */
  announce(telemetry: Telemetry): void {
    for (const [code, { stage, count, first }] of this.#written) {
      telemetry.emit('deadLetter.published', { stage, code, count, first })
    }
  }
}

/** Like Decoded, but the record may also represent an unreadable batch. */
type DecodedRecord<T> = Exclude<Decoded<T>, { error: DecodeError }> | { ok: false; error: DecodeError | Unreadable }

export function decodeRecord<T>(decoder: Decoder<T>, { value, unreadable, headers }: BusRecord): DecodedRecord<T> {
  if (unreadable) return { ok: false, error: unreadable }
  const decoded = decoder.decode(value)
  if (!('error' in decoded)) return decoded
  if (replayedFromHeader in headers && isReadableLater(decoded.error)) return decoder.decode(value, refusedForReplaysMs)
  if (decoded.error.code !== 'NOT_CONFLUENT' || !apicurioHeaders.some(name => name in headers)) return decoded
  const message = `Apicurio's serializer keeps the schema's id in headers: set ${apicurioSettings}.`
  return { ok: false, error: { code: 'NOT_CONFLUENT', message } }
}

const apicurioHeaders = ['apicurio.value.globalId', 'apicurio.value.contentId', 'apicurio.value.contentHash']
