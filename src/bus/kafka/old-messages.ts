import { createRequire } from 'node:module'
import * as zlib from 'node:zlib'
import { lengthEnds, prefixOf, type RecordBatch } from './record-batch.ts'
import { UnreadableBatch, unknownCodec } from './unreadable.ts'

/*
 * Messages of the formats v0 and v1, which producers wrote until Kafka 0.11 and old topics still hold. One that is
 * compressed has a set of them for its value, and the offset of the last of these.
 */

interface OldMessage {
  offset: string
  /** Of v1. */
  timestamp?: string
  key: Buffer | null
  value: Buffer | null
}

const require = createRequire(import.meta.url)
const KafkaDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => object
const decodeMessageSet = require('kafkajs/src/protocol/messageSet/decoder') as (
  decoder: object,
  size: number,
) => Promise<OldMessage[]>

const attributesAt = 17
/** The newest that these formats may name is LZ4. */
const lastCodec = 3

/** They know no transactions. */
export const noContext = { batchContext: { producerId: '-1', inTransaction: false } }

/** @throws UnreadableBatch, or whatever kafkajs throws at bytes that are none */
export async function decodeOldMessage(bytes: Buffer): Promise<RecordBatch> {
  const crcEnds = lengthEnds + 4
  if (bytes.readUInt32BE(lengthEnds) !== zlib.crc32(bytes.subarray(crcEnds))) {
    throw new UnreadableBatch('BATCH_CORRUPT', 'its checksum is wrong')
  }
  const codec = bytes[attributesAt]! & 7
  if (codec > lastCodec) throw unknownCodec(codec)
  const own = Buffer.from(bytes) // what is read of it holds on to it, not to the whole fetch
  const messages = await decodeMessageSet(new KafkaDecoder(own), own.length)
  if (messages.length === 0) throw new UnreadableBatch('BATCH_CORRUPT', 'it holds nothing') // kafkajs passes over the rest
  return {
    lastOffset: prefixOf(bytes).firstOffset,
    unpacked: messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    messages: messages.map(({ offset, timestamp, key, value }) => ({
      offset: Number(offset),
      timestamp: Number(timestamp ?? -1),
      key,
      value,
      headers: {},
      isControlRecord: false,
      ...noContext,
    })),
  }
}
