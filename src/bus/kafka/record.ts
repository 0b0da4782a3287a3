import type { Batch as KafkaBatch } from 'kafkajs'
import type { BusRecord, RecordHeaders } from '../port.ts'
import type { Batch } from '../session/driver.ts'

/** fetchedOffset is missing from kafkajs's types. */
export function toBatch(batch: KafkaBatch & { fetchedOffset?: string }): Batch {
  return {
    topic: batch.topic,
    partition: batch.partition,
    fetchedOffset: Number(batch.fetchedOffset),
    records: batch.messages.map(toRecord),
    nextOffset: Number(batch.lastOffset()) + 1,
    highWatermark: Number(batch.highWatermark),
  }
}

export function toRecord(message: KafkaBatch['messages'][number]): BusRecord {
  return {
    offset: Number(message.offset),
    timestamp: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: (message.headers ?? {}) as RecordHeaders,
  }
}
