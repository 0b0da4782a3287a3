import { createAPI, Reader, Writer } from '@platformatic/kafka'
import { apiOf, byTopic, consumerId, isolationLevels, noEpoch } from '../cluster/apis.ts'
import { protocolError } from '../cluster/errors.ts'
import type { TopicPartition } from '../port.ts'

export interface FetchRequest {
  /** How long the broker may wait for a first record. */
  waitMs: number
  maxBytes: number
  /** The most bytes that one partition has in the answer. */
  partitionBytes: number
  /** Where this client is, for brokers that know a nearer replica; '': not told. */
  rack: string
  partitions: readonly { tp: TopicPartition; offset: number }[]
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

/** The broker is to remember nothing of the request: decision 014. */
const noSession = { id: 0, epoch: -1 }
const fetchKey = 1
/** The newest version in which topics go by their names. */
const version = 12

/** Committed records. The library's own Fetch decodes them, three times as slowly and without looking at checksums. */
export const fetchRecords = apiOf(
  createAPI<[FetchRequest], FetchedPartition[]>(fetchKey, version, writeFetch, parseFetch),
)

function writeFetch({ waitMs, maxBytes, partitionBytes, rack, partitions }: FetchRequest): Writer {
  const wanted = partitions.map(({ tp: { topic, partition }, offset }) => ({ topic, partition, offset }))
  return Writer.create()
    .appendInt32(consumerId)
    .appendInt32(waitMs)
    .appendInt32(1) // bytes that are worth an answer
    .appendInt32(maxBytes)
    .appendInt8(isolationLevels.committed)
    .appendInt32(noSession.id)
    .appendInt32(noSession.epoch)
    .appendArray(
      byTopic(wanted, one => one),
      (to, { name, partitions }) => {
        to.appendString(name).appendArray(partitions, (to, { partition, offset }) => {
          to.appendInt32(partition).appendInt32(noEpoch).appendInt64(BigInt(offset))
          to.appendInt32(noEpoch).appendInt64(-1n).appendInt32(partitionBytes)
        })
      },
    )
    .appendArray([], () => {}) // partitions that a session is to forget
    .appendString(rack)
    .appendTaggedFields()
}

function parseFetch(_correlation: number, _key: number, _version: number, { buffer, position }: Reader) {
  return readFetch(buffer.slice(position))
}

/** @throws ProtocolError for the code of the whole */
export function readFetch(answer: Buffer): FetchedPartition[] {
  const from = Reader.from(answer) // in one piece, so that records share its memory
  from.readInt32() // throttle time
  const errorCode = from.readInt16()
  if (errorCode) throw protocolError(errorCode)
  from.readInt32() // the session
  const topics = from.readArray(() => {
    const topic = from.readString()
    return from.readArray(() => readPartition(from, topic))
  })
  return topics.flat()
}

function readPartition(from: Reader, topic: string): FetchedPartition {
  const place = { topic, partition: from.readInt32(), errorCode: from.readInt16(), highWatermark: offsetIn(from) }
  const stableOffset = offsetIn(from)
  from.skip(8) // the log's start
  const abortedTransactions = from.readArray(() => ({ producerId: from.readInt64(), firstOffset: offsetIn(from) }))
  const preferredReplica = from.readInt32()
  return { ...place, stableOffset, abortedTransactions, preferredReplica, bytes: from.readBytes() }
}

const offsetIn = (from: Reader) => Number(from.readInt64())
