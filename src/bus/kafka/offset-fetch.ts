import { createRequire } from 'node:module'
import type { ApiRequest, OffsetFetchRequest, OffsetFetchResponse } from './internals.ts'

interface Encoder {
  writeInt32(value: number): Encoder
  writeBoolean(value: boolean): Encoder
  writeUVarInt(value: number): Encoder
  writeUVarIntString(value: string): Encoder
  writeUVarIntArray(array: Encoder[]): Encoder
}

interface Decoder {
  offset: number
  readInt16(): number
  readInt32(): number
  readInt64(): bigint
  readUVarIntString(): string | null
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null
  readTaggedFields(): unknown
}

const require = createRequire(import.meta.url)
const KafkaEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder
const KafkaDecoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder

export const offsetFetchKey = 9
/** The first one that can ask for stable offsets (Kafka 2.5); kafkajs ends at 4. */
const apiVersion = 7

/** OffsetFetch with require_stable: what an open transaction is about to change comes with an error instead. */
export const stableOffsetFetch: ApiRequest = args => ({
  request: {
    apiKey: offsetFetchKey,
    apiName: 'OffsetFetch',
    apiVersion,
    encode: async () => encode(args as OffsetFetchRequest),
  },
  response: { decode: async payload => decode(payload), parse: async data => data },
})

/** Ends each structure of a flexible version: there are no tagged fields. */
const withoutTags = (encoder: Encoder): Encoder => encoder.writeUVarInt(0)

function encode({ groupId, topics }: OffsetFetchRequest): Encoder {
  const header = withoutTags(new KafkaEncoder()) // its last field, which kafkajs does not write
  const body = header.writeUVarIntString(groupId).writeUVarIntArray(topics.map(encodeTopic)).writeBoolean(true)
  return withoutTags(body)
}

function encodeTopic({ topic, partitions }: OffsetFetchRequest['topics'][number]): Encoder {
  const numbers = partitions.map(({ partition }) => new KafkaEncoder().writeInt32(partition))
  return withoutTags(new KafkaEncoder().writeUVarIntString(topic).writeUVarIntArray(numbers))
}

function decode(payload: Buffer): OffsetFetchResponse & { clientSideThrottleTime: number } {
  const decoder = new KafkaDecoder(payload)
  decoder.readTaggedFields() // of the header
  const clientSideThrottleTime = decoder.readInt32()
  const responses = decoder.readUVarIntArray(readTopic) ?? []
  return { clientSideThrottleTime, responses, errorCode: decoder.readInt16() }
}

function readTopic(decoder: Decoder) {
  const topic = decoder.readUVarIntString() ?? ''
  const partitions = decoder.readUVarIntArray(readPartition) ?? []
  decoder.readTaggedFields()
  return { topic, partitions }
}

function readPartition(decoder: Decoder) {
  const partition = decoder.readInt32()
  const offset = Number(decoder.readInt64())
  decoder.offset += 4 // the leader's epoch
  const metadata = decoder.readUVarIntString()
  const errorCode = decoder.readInt16()
  decoder.readTaggedFields()
  return { partition, offset, metadata, errorCode }
}
