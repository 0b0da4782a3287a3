import type { BusRecord, TopicPartition } from '../../bus/port.ts'

/** Where a record stands. */
export interface Place extends TopicPartition {
  offset: number
}

/** A dead letter, as its headers tell of it; or what stands for a batch of dead letters that cannot be read. */
export interface Letter {
  place: Place
  /** When it was written, milliseconds since 1970. */
  time: number
  stage: string
  code: string
  message: string
  /** Where the record came from; null: from a callback. */
  origin: Place | null
  /** The dead letter that it was replayed from, before it came back. */
  replayedFrom: string | null
}

export interface FullLetter extends Letter {
  record: BusRecord
}

const errorHeader = 'busgate.error.'
export const replayedFromHeader = 'busgate.replayed.from'

export function letterOf({ topic, partition }: TopicPartition, record: BusRecord): FullLetter {
  const header = (name: string) => textOf(record.headers[name])
  const about = (name: string) => header(`${errorHeader}${name}`)
  const from = about('topic')
  const { unreadable } = record
  return {
    place: { topic, partition, offset: record.offset },
    time: record.timestamp,
    stage: about('stage') ?? '',
    code: unreadable?.code ?? about('code') ?? '',
    message: unreadable?.message ?? about('message') ?? '',
    origin: from ? { topic: from, partition: Number(about('partition')), offset: Number(about('offset')) } : null,
    replayedFrom: header(replayedFromHeader),
    record,
  }
}

/** A dead letter without its content. */
export function jsonOf({ place, time, stage, code, message, origin, replayedFrom }: Letter) {
  return {
    at: shortPlace(place),
    time: new Date(time).toISOString(),
    stage,
    code,
    message,
    origin: origin && placeText(origin),
    replayedFrom,
  }
}

/** The key that the record had before it died. A dead letter always has one. */
export function originalKey({ key, headers }: BusRecord): Buffer | null {
  return headers[`${errorHeader}key`] === undefined ? key : null
}

/** The headers that the record had before it died. */
export function originalHeaders({ headers }: BusRecord): BusRecord['headers'] {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(errorHeader)))
}

/** `topic/partition@offset` */
export function placeText({ topic, partition, offset }: Place): string {
  return `${topic}/${partition}@${offset}`
}

/** `partition@offset`, where the topic is known. */
export function shortPlace({ partition, offset }: Place): string {
  return `${partition}@${offset}`
}

export function textOf(value: BusRecord['headers'][string]): string | null {
  const [first] = Array.isArray(value) ? value : [value]
  return first === undefined ? null : String(first)
}
