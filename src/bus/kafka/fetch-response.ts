import { createRequire } from 'node:module'
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
 * Decodes the answer to a fetch of version 4 to 11, the ones kafkajs speaks to brokers since 0.11, but for the batches in
 * it. kafkajs's own decoder keeps none, so that one which compaction has emptied would be fetched for ever; and it gives
 * up the whole answer for a batch that it cannot read.
 */
export function decodeFetch(payload: Buffer, version: number): FetchResponse & { clientSideThrottleTime: number } {
  const decoder = new KafkaDecoder(payload)
  const throttleTime = decoder.readInt32()
  if (version >= 7) decoder.offset += 6 // error code and id of a fetch session; there is none
  const responses = decoder.readArray(() => ({
    topicName: decoder.readString(),
    partitions: decoder.readArray(() => readPartition(decoder, version)),
  }))
  return { clientSideThrottleTime: version >= 8 ? throttleTime : 0, responses }
}

function readPartition(decoder: Decoder, version: number): FetchedPartition {
  const partition = decoder.readInt32()
  const errorCode = decoder.readInt16()
  const highWatermark = Number(decoder.readInt64())
  decoder.offset += version >= 5 ? 16 : 8 // last stable offset, and the log's start
  const abortedTransactions = decoder.readArray(() => ({
    producerId: String(decoder.readInt64()),
    firstOffset: String(decoder.readInt64()),
  }))
  if (version >= 11) decoder.offset += 4 // preferred replica
  return { partition, errorCode, highWatermark, abortedTransactions, bytes: decoder.readBytes() ?? Buffer.alloc(0) }
}
