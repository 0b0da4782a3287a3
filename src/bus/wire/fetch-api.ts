import type { TopicPartition } from '../port.ts'
import { defineApi } from './api.ts'
import type { Decoder } from './fields.ts'

export interface FetchRequest {
  /** How long the broker may wait for a first record. */
  waitMs: number
  maxBytes: number
  /** Where this client is, for brokers that know a nearer replica; '': not told. */
  rack: string
  partitions: readonly { tp: TopicPartition; offset: number; maxBytes: number }[]
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
  abortedTransactions: AbortedTransaction[]
  /** The node that this client shall read from instead; -1: none. */
  preferredReplica: number
  /** Batches, one after the other; the last one may be cut off. Shares its memory with the answer. */
  bytes: Buffer
}

export interface FetchAnswer {
  errorCode: number
  partitions: FetchedPartition[]
}

const nothing = Buffer.alloc(0)
const client = -1
const committed = 1
const unknown = -1

/** Committed records, without a session. Topics go by their names, as they do up to version 12. */
export const fetchRecords = defineApi<FetchRequest, FetchAnswer>({
  name: 'Fetch',
  key: 1,
  versions: [4, 12],
  flexible: 12,
  write(to, { waitMs, maxBytes, rack, partitions }, version) {
    to.int32(client).int32(waitMs).int32(1).int32(maxBytes).int8(committed)
    if (version >= 7) to.int32(0).int32(-1)
    to.array([...Map.groupBy(partitions, ({ tp }) => tp.topic)], ([topic, ofTopic]) => {
      to.string(topic).array(ofTopic, ({ tp, offset, maxBytes }) => {
        to.int32(tp.partition)
        if (version >= 9) to.int32(unknown) // leader epoch
        to.int64(offset)
        if (version >= 12) to.int32(unknown) // epoch of the last fetch
        if (version >= 5) to.int64(unknown) // a replica's own beginning
        to.int32(maxBytes)
      })
    })
    if (version >= 7) to.array([], () => {})
    if (version >= 11) to.string(rack)
  },
  read: readFetch,
})

export function readFetch(from: Decoder, version: number): FetchAnswer {
  from.skip(4) // throttle time
  const errorCode = version >= 7 ? from.int16() : 0
  if (version >= 7) from.skip(4) // session
  const topics = from.array(() => {
    const topic = from.string()
    return from.array(() => readPartition(from, version, topic))
  })
  return { errorCode, partitions: topics.flat() }
}

function readPartition(from: Decoder, version: number, topic: string): FetchedPartition {
  const place = { topic, partition: from.int32(), errorCode: from.int16(), highWatermark: from.int64() }
  from.skip(version >= 5 ? 16 : 8) // last stable offset, and the log's start
  const abortedTransactions = from.array(() => ({ producerId: from.bigint(), firstOffset: from.int64() }))
  const preferredReplica = version >= 11 ? from.int32() : -1
  return { ...place, abortedTransactions, preferredReplica, bytes: from.buffer() ?? nothing }
}
