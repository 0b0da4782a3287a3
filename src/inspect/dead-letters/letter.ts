import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import { errorHeaders } from '../../records/dead-letter.ts'

/** RecordPosition says where a record stands. */
export interface RecordPosition extends TopicPartition {
  offset: number
}

/** A dead letter, as its headers tell of it; or what stands for a batch of dead letters that cannot be read. */
export interface Letter {
  place: RecordPosition
  /** When it was written, milliseconds since 1970. */
  time: number
  stage: string
  code: string
  message: string
  /** Where the record came from; null: from a callback. */
  origin: RecordPosition | null
}

export interface FullLetter extends Letter {
  record: BusRecord
}

export function letterOf({ topic, partition }: TopicPartition, record: BusRecord): FullLetter {
  const header = (name: string) => headerText(record.headers[name])
  const from = header(errorHeaders.topic)
  const numberOf = (name: string) => Number(header(name))
  const { unreadable } = record
  return {
    place: { topic, partition, offset: record.offset },
    time: record.timestamp,
    stage: header(errorHeaders.stage) ?? '',
    code: unreadable?.code ?? header(errorHeaders.code) ?? '',
    message: unreadable?.message ?? header(errorHeaders.message) ?? '',
    origin: from
      ? { topic: from, partition: numberOf(errorHeaders.partition), offset: numberOf(errorHeaders.offset) }
      : null,
    record,
  }
}

/** A dead letter without its content. */
export function jsonOf({ place, time, stage, code, message, origin }: Letter) {
  return {
    at: shortPlace(place),
    time: new Date(time).toISOString(),
    stage,
    code,
    message,
    origin: origin && placeText(origin),
  }
}

/** `topic/partition@offset` */
export function placeText({ topic, partition, offset }: RecordPosition): string {
  return `${topic}/${partition}@${offset}`
}

/** `partition@offset`, where the topic is known. */
export function shortPlace({ partition, offset }: RecordPosition): string {
  return `${partition}@${offset}`
}

export function headerText(value: BusRecord['headers'][string]): string | null {
  const [first] = Array.isArray(value) ? value : [value]
  return first === undefined ? null : String(first)
}
