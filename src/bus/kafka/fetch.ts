import type { BusRecord, TopicPartition } from '../port.ts'
import { newHeaders } from '../record-headers.ts'
import { timestampOf } from '../record-time.ts'
import { markAborted } from './aborted.ts'
import { protocolError } from './cluster.ts'
import type { DecodedMessage, FetchedPartition, InternalBroker } from './internals.ts'
import { unreadableOf } from './unreadable.ts'

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
  | {
      ok: true
      /** A batch that cannot be read is one of them, and then the last. */
      records: BusRecord[]
      /** Where to read on. */
      next: number
      /** The end of the log. */
      highWatermark: number
    }
  | { ok: false; error: unknown }

type Lost = NonNullable<DecodedMessage['unreadable']>

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
  const { responses } = await broker.fetch(request)
  const answered = new Map(
    responses.flatMap(({ topicName, partitions }) => partitions.map(one => [`${topicName}/${one.partition}`, one])),
  )
  return new Map(
    positions.flatMap(position => {
      const found = answered.get(`${position.tp.topic}/${position.tp.partition}`)
      return found ? [[position, committedOf(found, position.offset)]] : []
    }),
  )
}

function committedOf(fetched: FetchedPartition, position: number): Fetched {
  const { errorCode, abortedTransactions, messages, highWatermark } = fetched
  if (errorCode) return { ok: false, error: protocolError(errorCode) }
  if (abortedTransactions?.length) markAborted(messages, abortedTransactions)
  const records: BusRecord[] = []
  for (const message of messages) {
    if (message.isControlRecord) continue
    const record = message.unreadable ? unreadableRecord(message, message.unreadable, position) : recordOf(message)
    if (record.offset >= position) records.push(record) // the first batch may begin earlier
  }
  const behind = fetched.next ?? Number(messages.at(-1)?.offset ?? -1) + 1
  const passed = (records.at(-1)?.unreadable?.lastOffset ?? -1) + 1
  return { ok: true, records, next: Math.max(position, behind, passed), highWatermark: Number(highWatermark) }
}

function recordOf({ offset, timestamp, key, value, headers = newHeaders() }: DecodedMessage): BusRecord {
  return { offset: Number(offset), timestamp: timestampOf(Number(timestamp)), key, value, headers }
}

/** It stands where reading goes on, or where its batch begins. */
function unreadableRecord(message: DecodedMessage, { error, lastOffset }: Lost, position: number): BusRecord {
  const record = recordOf(message)
  const offset = Math.max(record.offset, position)
  return { ...record, offset, unreadable: unreadableOf(error, offset, Math.max(lastOffset, offset)) }
}
