import { createRequire } from 'node:module'
import { describe, expect, test } from 'vitest'
import { decodeFetch } from '../../src/bus/kafka/fetch-response.ts'

/** kafkajs's encoders. */
interface Encoder {
  buffer: Buffer
  writeInt8(value: number): Encoder
  writeInt16(value: number): Encoder
  writeInt32(value: number): Encoder
  writeInt64(value: number): Encoder
  writeString(value: string): Encoder
  writeBytes(value: Buffer): Encoder
  writeBuffer(value: Buffer): Encoder
  writeArray(values: Encoder[]): Encoder
}
const require = createRequire(import.meta.url)
const KafkaEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0') as { RecordBatch(of: object): Promise<Encoder> }
const Record = require('kafkajs/src/protocol/recordBatch/record/v0') as (of: object) => Encoder

/** A batch of offsets from `first` to `last`, of which only `kept` are left. */
async function batchOf(first: number, last: number, kept: number[]): Promise<Buffer> {
  const records = kept.map(offset =>
    Record({ offsetDelta: offset - first, key: Buffer.from(`key ${offset}`), value: Buffer.from('value') }),
  )
  return (await RecordBatch({ firstOffset: first, lastOffsetDelta: last - first, records })).buffer
}

interface Partition {
  partition: number
  errorCode?: number
  aborted?: { producerId: number; firstOffset: number }[]
  bytes: Buffer
}

/** As the protocol's guide has it: https://kafka.apache.org/protocol#The_Messages_Fetch */
function answer(version: number, partitions: Partition[], throttleTime = 0): Buffer {
  const encoded = partitions.map(({ partition, errorCode = 0, aborted = [], bytes }) => {
    const encoder = new KafkaEncoder().writeInt32(partition).writeInt16(errorCode).writeInt64(90).writeInt64(80)
    if (version >= 5) encoder.writeInt64(1)
    encoder.writeArray(aborted.map(one => new KafkaEncoder().writeInt64(one.producerId).writeInt64(one.firstOffset)))
    if (version >= 11) encoder.writeInt32(-1)
    return encoder.writeBytes(bytes)
  })
  const encoder = new KafkaEncoder().writeInt32(throttleTime)
  if (version >= 7) encoder.writeInt16(0).writeInt32(0)
  return encoder.writeArray([new KafkaEncoder().writeString('topic').writeArray(encoded)]).buffer
}

const decodeOne = async (bytes: Buffer) => (await decodeFetch(answer(11, [{ partition: 0, bytes }]), 11)).partitions[0]!

describe("the broker's answer to a fetch", () => {
  test.each([4, 5, 6, 7, 8, 9, 10, 11])('of version %i is read as kafkajs reads it', async version => {
    const payload = answer(
      version,
      [
        {
          partition: 3,
          aborted: [{ producerId: 7, firstOffset: 40 }],
          bytes: Buffer.concat([await batchOf(40, 41, [40, 41]), await batchOf(42, 42, [42])]),
        },
        { partition: 4, errorCode: 6, bytes: Buffer.alloc(0) },
      ],
      version >= 8 ? 12 : 0,
    )
    const kafkajs = require(`kafkajs/src/protocol/requests/fetch/v${version}/response`)
    const expected = await kafkajs.decode(payload)
    const { partitions, clientSideThrottleTime } = await decodeFetch(payload, version)
    expect(clientSideThrottleTime).toBe(version >= 8 ? 12 : 0)
    expect(partitions).toHaveLength(2)
    for (const [
      i,
      { partition, errorCode, abortedTransactions, messages },
    ] of expected.responses[0].partitions.entries()) {
      expect(partitions[i]).toMatchObject({ topic: 'topic', partition, errorCode, abortedTransactions, messages })
    }
    expect(partitions.map(({ next }) => next)).toEqual([43, null])
  })

  test('says where to go on when compaction has taken the end of a batch', async () => {
    const { messages, next } = await decodeOne(await batchOf(10, 19, [10, 12]))
    expect(messages.map(({ offset }) => offset)).toEqual(['10', '12'])
    expect(next).toBe(20)
  })

  test('says where to go on when compaction has emptied a batch', async () => {
    expect(await decodeOne(await batchOf(10, 19, []))).toMatchObject({ messages: [], next: 20 })
  })

  test('ends before a batch that the broker has cut off', async () => {
    const second = await batchOf(20, 29, [20])
    for (const cut of [5, 12, 30, second.length - 1]) {
      const bytes = Buffer.concat([await batchOf(10, 19, [10]), second.subarray(0, cut)])
      expect(await decodeOne(bytes)).toMatchObject({ messages: [{ offset: '10' }], next: 20, undecodable: null })
    }
  })

  test('keeps to itself that one partition cannot be decoded', async () => {
    const whole = await batchOf(10, 10, [10])
    const unknownCodec = Buffer.from(whole)
    unknownCodec.writeInt16BE(4, 21) // attributes: zstd
    const payload = answer(11, [
      { partition: 0, bytes: unknownCodec },
      { partition: 1, bytes: whole },
    ])
    const { partitions } = await decodeFetch(payload, 11)
    expect(partitions.map(({ undecodable }) => undecodable === null)).toEqual([false, true])
    expect(partitions[1]).toMatchObject({ next: 11 })
  })
})
