import type { BusRecord, OutgoingRecord, RecordHeaders, TopicPartition } from '../bus/port.ts'
import type { DeadLetterCode } from '../telemetry/labels.ts'
import { longestError, type Origin } from './result.ts'
import { orShorter } from './shorten.ts'

/** Headers that say why a record is a dead letter, and where it came from. */
export const errorHeaders = {
  stage: 'busgate.error.stage',
  code: 'busgate.error.code',
  message: 'busgate.error.message',
  topic: 'busgate.error.topic',
  partition: 'busgate.error.partition',
  offset: 'busgate.error.offset',
  lastOffset: 'busgate.error.last-offset',
  timestamp: 'busgate.error.timestamp',
  /** It is written only where the dead letter's key is not that of the record. */
  key: 'busgate.error.key',
} as const

/** A longer key is left out of a letter that is too large for its topic. */
const longestKey = 256

/** Headers that busgate gives a meaning begin so. Producers can write them, too. */
const ownPrefix = 'busgate.'

/** On a record that was replayed: the dead letter that it was, as `topic/partition@offset`. */
export const replayedFromHeader = 'busgate.replayed.from'

/** DeadLetterReason says why something cannot be worked on; nothing of its content. */
export interface DeadLetterReason {
  code: DeadLetterCode
  message: string
}

/**
 * The record as it came, with headers that say why it is here, and without those that only look as if busgate had written
 * them. Where that is too large for the topic, its value, its own
 * headers and a long key are left out: its coordinates tell where all of it is. For a batch that cannot be read stands one
 * dead letter without a value. Where there is no key its coordinates are one: a topic that somebody has set to be
 * compacted refuses records without a key, and the partition would stand still for ever.
 */
export function deadLetter(topic: string, { record, ...from }: Origin, reason: DeadLetterReason): OutgoingRecord {
  const { key, value, offset, timestamp, unreadable } = record
  const lastOffset = unreadable?.lastOffset ?? offset
  const message = reason.message.slice(0, longestError)
  const letterOf = (own: Pick<BusRecord, 'key' | 'value' | 'headers'>, message: string): OutgoingRecord => ({
    topic,
    key: own.key ?? Buffer.from(`${from.topic}/${from.partition}@${offset}`),
    value: own.value,
    headers: {
      ...own.headers,
      [errorHeaders.stage]: 'decode',
      [errorHeaders.code]: reason.code,
      [errorHeaders.message]: message,
      [errorHeaders.topic]: from.topic,
      [errorHeaders.partition]: String(from.partition),
      [errorHeaders.offset]: String(offset),
      ...(lastOffset > offset && { [errorHeaders.lastOffset]: String(lastOffset) }),
      [errorHeaders.timestamp]: String(timestamp),
      ...(own.key === null && { [errorHeaders.key]: 'none' }),
    },
  })
  return orShorter(letterOf({ key, value, headers: originalHeaders(record) }, message), () => {
    const note = `too large to be copied: its value of ${value?.length ?? 0} bytes, and its headers`
    const shortKey = key !== null && key.length > longestKey ? null : key
    return letterOf({ key: shortKey, value: null, headers: {} }, `${message} (${note})`)
  })
}

/** The body of a callback as it came, or where that is too large for the topic, that it came. */
export function callbackLetter(topic: string, body: Buffer, reason: DeadLetterReason): OutgoingRecord {
  const timestamp = String(Date.now())
  const letterOf = (value: Buffer | null, message: string): OutgoingRecord => ({
    topic,
    key: null,
    value,
    headers: {
      [errorHeaders.stage]: 'callback',
      [errorHeaders.code]: reason.code,
      [errorHeaders.message]: message,
      [errorHeaders.timestamp]: timestamp,
    },
  })
  return orShorter(letterOf(body, reason.message), () =>
    letterOf(null, `${reason.message} (too large to be kept: its body of ${body.length} bytes)`),
  )
}

/** The record that a dead letter is about; null where its headers do not say. */
export function originOfLetter({
  headers,
}: BusRecord): (TopicPartition & { offset: number; timestamp: number }) | null {
  const { topic: topicHeader, partition, offset, timestamp } = errorHeaders
  const topic = headers[topicHeader]
  if (!topic) return null
  return {
    topic: String(topic),
    partition: Number(headers[partition]),
    offset: Number(headers[offset]),
    timestamp: Number(headers[timestamp]),
  }
}

/** The key that the record had before it died. A dead letter always has one. */
export function originalKey({ key, headers }: BusRecord): Buffer | null {
  return headers[errorHeaders.key] === undefined ? key : null
}

/** The record's headers, without those of busgate. */
export function originalHeaders({ headers }: BusRecord): RecordHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(ownPrefix)))
}
