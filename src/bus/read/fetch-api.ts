import { createAPI, Reader, Writer } from '@platformatic/kafka'
import { apiOf, byTopic, consumerId, isolationLevels, noEpoch } from '../cluster/apis.ts'
import { protocolError } from '../cluster/errors.ts'
import type { Isolation, TopicPartition } from '../port.ts'

export interface FetchRequest {
  /** Longest time that the broker may wait for a first record. */
  waitMs: number
  /** Most bytes of one partition in the answer. */
  partitionBytes: number
  /** This client's rack, for fetching from a nearer replica (KIP-392). */
  rack?: string
  /** Default: committed. */
  isolation?: Isolation
  partitions: readonly { tp: TopicPartition; offset: number }[]
}

export interface AbortedTransaction {
  producerId: bigint
  firstOffset: number
}

export interface FetchAnswer {
  throttleTimeMs: number
  partitions: FetchedPartition[]
}

export interface FetchedPartition {
  topic: string
  partition: number
  errorCode: number
  highWatermark: number
  /** The last stable offset: the first offset of the oldest open transaction, or the high watermark if none is open. */
  stableOffset: number
  abortedTransactions: AbortedTransaction[]
  /** Node to read from instead; -1 if none. */
  preferredReplica: number
  /** Consecutive batches; the last may be truncated. A view of the answer's memory. */
  bytes: Buffer
}

/** Without an incremental fetch session: docs/decisions/014. */
const noSession = { id: 0, epoch: -1 }
const fetchKey = 1
const maxBytes = 4 * 1024 * 1024
/** The last version that names topics instead of using their ids. */
const version = 12

/** Fetches records. The library's Fetch decodes them at a third of the speed, and does not verify checksums. */
export const fetchRecords = apiOf(createAPI<[FetchRequest], FetchAnswer>(fetchKey, version, writeFetch, parseFetch))

function writeFetch({ waitMs, partitionBytes, rack = '', isolation = 'committed', partitions }: FetchRequest): Writer {
  const wanted = partitions.map(({ tp: { topic, partition }, offset }) => ({ topic, partition, offset }))
  return Writer.create()
    .appendInt32(consumerId)
    .appendInt32(waitMs)
    .appendInt32(1) // min_bytes
    .appendInt32(Math.max(maxBytes, partitionBytes))
    .appendInt8(isolationLevels[isolation])
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
    .appendArray([], () => {}) // forgotten topics of a fetch session
    .appendString(rack)
    .appendTaggedFields()
}

function parseFetch(_correlation: number, _key: number, _version: number, { buffer, position }: Reader) {
  return readFetch(buffer.slice(position))
}

/** @throws ProtocolError for the answer's top-level error code */
export function readFetch(answer: Buffer): FetchAnswer {
  const from = Reader.from(answer) // contiguous, so that records share its memory
  const throttleTimeMs = from.readInt32()
  const errorCode = from.readInt16()
  if (errorCode) throw protocolError(errorCode)
  from.readInt32()
  const topics = from.readArray(() => {
    const topic = from.readString()
    return from.readArray(() => readPartition(from, topic))
  })
  return { throttleTimeMs, partitions: topics.flat() }
}

function readPartition(from: Reader, topic: string): FetchedPartition {
  const place = { topic, partition: from.readInt32(), errorCode: from.readInt16(), highWatermark: offsetIn(from) }
  const stableOffset = offsetIn(from)
  from.skip(8) // log start offset
  const abortedTransactions = from.readArray(() => ({ producerId: from.readInt64(), firstOffset: offsetIn(from) }))
  const preferredReplica = from.readInt32()
  return { ...place, stableOffset, abortedTransactions, preferredReplica, bytes: from.readBytes() }
}

const offsetIn = (from: Reader) => Number(from.readInt64())
