import { createRequire } from 'node:module'
import type { AbortedTransaction, FetchedMessage } from './internals.ts'

/** What a fetch answers about one partition. */
export interface FetchedPartition {
  topic: string
  partition: number
  errorCode: number
  highWatermark: number
  abortedTransactions: AbortedTransaction[]
  messages: FetchedMessage[]
  /** The offset after the last batch that was answered, whole or emptied; null when there was none. */
  next: number | null
  /** Why not even its first batch can be decoded. */
  undecodable: unknown
}

export interface FetchResponse {
  /** kafkajs keeps to it. */
  clientSideThrottleTime: number
  partitions: FetchedPartition[]
}

interface Decoder {
  buffer: Buffer
  offset: number
  readInt16(): number
  readInt32(): number
  readInt64(): bigint
  readString(): string
  readBytes(): Buffer | null
  readArray<T>(read: (decoder: Decoder) => T): T[]
  canReadBytes(length: number): boolean
}

interface RecordBatch {
  firstOffset: string
  lastOffsetDelta: number
  records: FetchedMessage[]
}

const require = createRequire(import.meta.url)
const KafkaDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder
const decodeRecordBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder') as (
  decoder: Decoder,
) => Promise<RecordBatch>

/** The offset and the length of a batch, before the rest of it. */
const batchPrefixBytes = 12

/**
 * Decodes the answer to a fetch of version 4 to 11, the ones kafkajs speaks to brokers since 0.11. kafkajs's own decoder
 * keeps no batches, and without them a batch that compaction has emptied would be fetched for ever.
 */
export async function decodeFetch(payload: Buffer, version: number): Promise<FetchResponse> {
  const decoder = new KafkaDecoder(payload)
  const throttleTime = decoder.readInt32()
  if (version >= 7) decoder.offset += 6 // error code and id of a fetch session; there is none
  const topics = decoder.readArray(() => {
    const topic = decoder.readString()
    return decoder.readArray(() => readPartition(decoder, version, topic))
  })
  const partitions = await Promise.all(topics.flat().map(decodeBatches))
  return { clientSideThrottleTime: version >= 8 ? throttleTime : 0, partitions }
}

function readPartition(decoder: Decoder, version: number, topic: string) {
  const partition = decoder.readInt32()
  const errorCode = decoder.readInt16()
  const highWatermark = Number(decoder.readInt64())
  decoder.offset += version >= 5 ? 16 : 8 // last stable offset, and the log's start
  const abortedTransactions = decoder.readArray(() => ({
    producerId: String(decoder.readInt64()),
    firstOffset: String(decoder.readInt64()),
  }))
  if (version >= 11) decoder.offset += 4 // preferred replica
  return { topic, partition, errorCode, highWatermark, abortedTransactions, bytes: decoder.readBytes() }
}

async function decodeBatches({ bytes, ...about }: ReturnType<typeof readPartition>): Promise<FetchedPartition> {
  const decoder = new KafkaDecoder(bytes ?? Buffer.alloc(0))
  const fetched: FetchedPartition = { ...about, messages: [], next: null, undecodable: null }
  try {
    while (decoder.canReadBytes(batchPrefixBytes)) {
      const length = decoder.buffer.readInt32BE(decoder.offset + 8)
      if (!decoder.canReadBytes(batchPrefixBytes + length)) break // the broker cuts the last one off
      const { firstOffset, lastOffsetDelta, records } = await decodeRecordBatch(decoder)
      for (const record of records) fetched.messages.push(record)
      fetched.next = Number(firstOffset) + lastOffsetDelta + 1
    }
  } catch (error) {
    if (fetched.next === null) fetched.undecodable = error // else the next fetch begins with it
  }
  return fetched
}
