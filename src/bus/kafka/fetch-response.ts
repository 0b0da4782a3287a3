import { createRequire } from 'node:module'
import { type Allowance, decodeBatches, unpackedAtOnce } from './batches.ts'
import type { FetchedPartition, FetchResponse } from './internals.ts'

interface Decoder {
  offset: number
  readInt16(): number
  readInt32(): number
  readInt64(): bigint
  readString(): string
  readBytes(): Buffer | null
  readArray<T>(read: (decoder: Decoder) => T): T[]
}

const require = createRequire(import.meta.url)
const KafkaDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder

/**
 * Decodes the answer to a fetch of version 4 to 11, the ones kafkajs speaks to brokers since 0.11, to what kafkajs's own
 * decoder would, and more: that one keeps no batches, and without them a batch that compaction has emptied would be
 * fetched for ever; and it gives up the whole answer for a batch that it cannot read.
 */
export function decodeFetch(payload: Buffer, version: number): FetchResponse & { clientSideThrottleTime: number } {
  const decoder = new KafkaDecoder(payload)
  const throttleTime = decoder.readInt32()
  if (version >= 7) decoder.offset += 6 // error code and id of a fetch session; there is none
  const topics = decoder.readArray(() => ({
    topicName: decoder.readString(),
    partitions: decoder.readArray(() => readPartition(decoder, version)),
  }))
  const allowance = { bytes: unpackedAtOnce }
  const responses = topics.map(({ topicName, partitions }) => ({
    topicName,
    partitions: partitions.map(partition => decodePartition(partition, allowance)),
  }))
  return { clientSideThrottleTime: version >= 8 ? throttleTime : 0, responses }
}

function readPartition(decoder: Decoder, version: number) {
  const partition = decoder.readInt32()
  const errorCode = decoder.readInt16()
  const highWatermark = Number(decoder.readInt64())
  decoder.offset += version >= 5 ? 16 : 8 // last stable offset, and the log's start
  const abortedTransactions = decoder.readArray(() => ({
    producerId: String(decoder.readInt64()),
    firstOffset: String(decoder.readInt64()),
  }))
  if (version >= 11) decoder.offset += 4 // preferred replica
  return { partition, errorCode, highWatermark, abortedTransactions, bytes: decoder.readBytes() }
}

function decodePartition(
  { bytes, ...about }: ReturnType<typeof readPartition>,
  allowance: Allowance,
): FetchedPartition {
  return { ...about, ...decodeBatches(bytes ?? Buffer.alloc(0), about.highWatermark, allowance) }
}
