import type { KafkaMessage } from 'kafkajs'
import type { BusRecord, TopicPartition } from '../port.ts'
import { markAborted } from './aborted.ts'
import { protocolError } from './cluster.ts'
import type { FetchedPartition, FetchResponse } from './fetch-response.ts'
import type { InternalBroker } from './internals.ts'
import { toRecord } from './record.ts'

/** Where to read on. */
export interface Position {
  tp: TopicPartition
  offset: number
}

export interface FetchLimits {
  /** How long the broker may wait for a first record. */
  waitMs: number
  bytesPerPartition: number
}

export type Fetched =
  | { ok: true; records: BusRecord[]; next: number; highWatermark: number }
  | { ok: false; error: unknown }

const maxBytes = 4 * 1024 * 1024

/**
 * The committed records from each position on, and where to go on; no partition may be there twice. The broker says
 * nothing of some when others fill the answer.
 */
export async function fetchCommitted(
  broker: InternalBroker,
  positions: readonly Position[],
  { waitMs, bytesPerPartition }: FetchLimits,
): Promise<Map<Position, Fetched>> {
  const topics = [...Map.groupBy(positions, ({ tp }) => tp.topic)].map(([topic, group]) => ({
    topic,
    partitions: group.map(({ tp, offset }) => ({
      partition: tp.partition,
      fetchOffset: String(offset),
      maxBytes: bytesPerPartition,
    })),
  }))
  const request = { maxWaitTime: waitMs, minBytes: 1, maxBytes, isolationLevel: 1 as const, topics }
  const { partitions } = (await broker.fetch(request)) as unknown as FetchResponse // see cluster.ts
  const answered = new Map(partitions.map(one => [`${one.topic}/${one.partition}`, one]))
  return new Map(
    positions.flatMap(position => {
      const found = answered.get(`${position.tp.topic}/${position.tp.partition}`)
      return found ? [[position, committedOf(found, position.offset)]] : []
    }),
  )
}

function committedOf(fetched: FetchedPartition, offset: number): Fetched {
  const { errorCode, highWatermark, undecodable, abortedTransactions, messages, next } = fetched
  if (errorCode) return { ok: false, error: protocolError(errorCode) }
  if (undecodable) return { ok: false, error: undecodable }
  if (abortedTransactions.length > 0) markAborted(messages, abortedTransactions)
  const records = messages
    .filter(message => !message.isControlRecord && Number(message.offset) >= offset) // the first batch may begin earlier
    .map(message => toRecord(message as unknown as KafkaMessage))
  return { ok: true, records, next: Math.max(offset, next ?? 0), highWatermark }
}
