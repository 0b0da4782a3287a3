import type { BusRecord, OutgoingRecord, TopicPartition } from '../bus/port.ts'
import { longestError } from '../records/result.ts'

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
