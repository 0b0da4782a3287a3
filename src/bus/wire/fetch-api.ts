import type { TopicPartition } from '../port.ts'
import { defineApi } from './api.ts'
import type { WireReader } from './fields.ts'
import { writePartitions } from './partition-codes.ts'

export interface FetchRequest {
  /** How long the broker may wait for a first record. */
  waitMs: number
  maxBytes: number
  /** The most bytes that one partition has in the answer. */
  partitionBytes: number
  /** Where this client is, for brokers that know a nearer replica; '': not told. */
  rack: string
  partitions: readonly { tp: TopicPartition; offset: number }[]
  /** Missing: the broker is to remember nothing. left: partitions that are asked for no more. */
  session?: { id: number; epoch: number; left: readonly TopicPartition[] }
}

export interface AbortedTransaction {
  producerId: bigint
  firstOffset: number
}

export interface FetchedPartition {
  topic: string
  partition: number
  errorCode: number
  highWatermark: number
  /** The first offset of a transaction that is open; the high watermark, if none is. */
  stableOffset: number
  abortedTransactions: AbortedTransaction[]
  /** The node that this client shall read from instead; -1: none. */
  preferredReplica: number
  /** Batches, one after the other; the last one may be cut off. Shares its memory with the answer. */
  bytes: Buffer
}

export interface FetchAnswer {
  errorCode: number
  /** The id of the session that the broker keeps; 0: none. */
  session: number
  partitions: FetchedPartition[]
}

const nothing = Buffer.alloc(0)
const client = -1
const committed = 1
const unknown = -1
const noSession: NonNullable<FetchRequest['session']> = { id: 0, epoch: -1, left: [] }

/** Committed records. Topics go by their names, as they do up to version 12. */
export const fetchRecords = defineApi<FetchRequest, FetchAnswer>({
  name: 'Fetch',
  key: 1,
  versions: [4, 12],
  flexible: 12,
  write(to, { waitMs, maxBytes, partitionBytes, rack, partitions, session = noSession }, version) {
    to.int32(client).int32(waitMs).int32(1).int32(maxBytes).int8(committed)
    if (version >= 7) to.int32(session.id).int32(session.epoch)
    to.array([...Map.groupBy(partitions, ({ tp }) => tp.topic)], ([topic, ofTopic]) => {
      to.string(topic).array(ofTopic, ({ tp, offset }) => {
        to.int32(tp.partition)
        if (version >= 9) to.int32(unknown) // leader epoch
        to.int64(offset)
        if (version >= 12) to.int32(unknown) // epoch of the last fetch
        if (version >= 5) to.int64(unknown) // a replica's own beginning
        to.int32(partitionBytes)
      })
    })
    if (version >= 7) writePartitions(to, session.left)
    if (version >= 11) to.string(rack)
  },
  read: readFetch,
})

export function readFetch(from: WireReader, version: number): FetchAnswer {
  from.skip(4) // throttle time
  const errorCode = version >= 7 ? from.int16() : 0
  const session = version >= 7 ? from.int32() : 0
  const topics = from.array(() => {
    const topic = from.string()
    return from.array(() => readPartition(from, version, topic))
  })
  return { errorCode, session, partitions: topics.flat() }
}

function readPartition(from: WireReader, version: number, topic: string): FetchedPartition {
  const place = { topic, partition: from.int32(), errorCode: from.int16(), highWatermark: from.int64() }
  const stableOffset = from.int64()
  if (version >= 5) from.skip(8) // the log's start
  const abortedTransactions = from.array(() => ({ producerId: from.bigint(), firstOffset: from.int64() }))
  const preferredReplica = version >= 11 ? from.int32() : -1
  return { ...place, stableOffset, abortedTransactions, preferredReplica, bytes: from.buffer() ?? nothing }
}
