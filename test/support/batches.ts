import { createRequire } from 'node:module'
import { crc32, gzipSync, zstdCompressSync } from 'node:zlib'
import { lz4Compress, snappyCompress } from '@platformatic/wasm-utils'
import { unpack } from '../../src/bus/batches/codecs.ts'
import { RecordReader } from '../../src/bus/batches/record-reader.ts'
import type { EncodedBatch } from '../../src/bus/write/produce-api.ts'

/*
 * Record batches for the tests of our decoder. They are made by kafkajs's encoders and Rust's compressors, so that an error in
 * our own code cannot hide itself.
 */

/** kafkajs's encoder. */
interface Encoder {
  buffer: Buffer
  writeInt8(value: number): Encoder
  writeInt16(value: number): Encoder
  writeInt32(value: number): Encoder
  writeUInt32(value: number): Encoder
  writeInt64(value: number | bigint): Encoder
  writeString(value: string): Encoder
  writeBytes(value: Buffer | null): Encoder
  writeBuffer(value: Buffer): Encoder
  writeArray(values: Encoder[]): Encoder
}

const require = createRequire(import.meta.url)
const KafkaEncoder = require('kafkajs/src/protocol/encoder') as new () => Encoder
const Record = require('kafkajs/src/protocol/recordBatch/record/v0') as (of: object) => Encoder
/** kafkajs's checksum. */
export const crc32c = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number

type Pack = (bytes: Buffer) => Buffer

/** wasm-utils 0.2.1 throws at empty input once its memory has grown, so empty input is compressed in advance. */
function withSafeEmptyInput(compress: (bytes: Buffer<ArrayBuffer>) => Buffer): Pack {
  const empty = compress(Buffer.alloc(0))
  return bytes => (bytes.length === 0 ? empty : compress(bytes as Buffer<ArrayBuffer>))
}

const snappy = withSafeEmptyInput(snappyCompress)
const lz4 = withSafeEmptyInput(lz4Compress)

/** Snappy as Java producers frame it: a magic header, then blocks of 32 KiB. */
function xerial(bytes: Buffer): Buffer {
  const parts: Buffer[] = [Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0]), Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]
  for (let at = 0; at < bytes.length; at += 32_768) {
    const block = snappy(bytes.subarray(at, at + 32_768))
    parts.push(new KafkaEncoder().writeBytes(block).buffer)
  }
  return Buffer.concat(parts)
}

/** Every compression format that producers use, with its codec number. */
export const packings = {
  none: [0, bytes => bytes],
  gzip: [1, bytes => gzipSync(bytes)],
  'raw snappy': [2, snappy],
  'xerial snappy': [2, xerial],
  lz4: [3, lz4],
  zstd: [4, bytes => zstdCompressSync(bytes)],
} satisfies Record<string, [number, Pack]>

export type Packing = keyof typeof packings
export const packingNames = Object.keys(packings) as Packing[]

export interface BatchRecord {
  offset: number
  key?: string | null
  value?: string | Buffer | null
  headers?: Record<string, string | string[]>
}

export interface BatchOptions {
  /** Default: the first record's offset. */
  first?: number
  /** Default: the last record's offset. */
  last?: number
  packing?: Packing
  /** Overrides the codec number in the batch's attributes. */
  codec?: number
  /** Replaces the compressed records. */
  packed?: (packed: Buffer) => Buffer
  count?: number
  producerId?: number
  transactional?: boolean
  control?: boolean
  /** The broker's timestamp of all records (LogAppendTime), in milliseconds. */
  appendedAt?: number | bigint
  firstTimestamp?: number | bigint
}

/** Builds a batch in format v2 with records at these offsets. */
export function buildBatch(records: readonly (BatchRecord | number)[], options: BatchOptions = {}): Buffer {
  const full = records.map(one => (typeof one === 'number' ? { offset: one } : one))
  const { first = full[0]!.offset, last = full.at(-1)!.offset, packing = 'none', firstTimestamp = 1_000 } = options
  const [codec, pack] = packings[packing]
  const { packed: change = (bytes: Buffer) => bytes, appendedAt } = options
  const bytes = Buffer.concat(full.map(record => encodeRecord(record, first)))
  const attributes =
    (options.codec ?? codec) |
    (appendedAt === undefined ? 0 : 8) |
    (options.transactional ? 16 : 0) |
    (options.control ? 32 : 0)
  const body = new KafkaEncoder()
    .writeInt16(attributes)
    .writeInt32(last - first)
    .writeInt64(firstTimestamp)
    .writeInt64(appendedAt ?? firstTimestamp)
    .writeInt64(options.producerId ?? -1)
    .writeInt16(0)
    .writeInt32(0)
    .writeInt32(options.count ?? full.length)
    .writeBuffer(change(pack(bytes))).buffer
  const rest = new KafkaEncoder().writeInt32(0).writeInt8(2).writeUInt32(crc32c(body)).writeBuffer(body)
  return new KafkaEncoder().writeInt64(first).writeBytes(rest.buffer).buffer
}

/** A record's timestamp is the batch's plus its offset within the batch. */
function encodeRecord({ offset, key, value, headers = {} }: BatchRecord, first: number): Buffer {
  return Record({
    offsetDelta: offset - first,
    timestampDelta: offset - first,
    key: key === undefined ? Buffer.from(`key ${offset}`) : key,
    value: value === undefined ? Buffer.from(`value ${offset}`) : value,
    headers,
  }).buffer
}

/** The only record of a batch, with many headers of one name. kafkajs's encoder would take minutes for it. */
export function buildCrowdedRecord(headers: number): Buffer {
  const body = Buffer.concat([
    Buffer.from([0, 0, 0, 1, 1]), // no attributes, the batch's time and offset, neither key nor value
    varint(headers),
    Buffer.alloc(3 * headers, Buffer.from([2, 0x61, 0])), // each an 'a' and nothing
  ])
  return Buffer.concat([varint(body.length), body])
}

/** Encodes a number that is not negative. */
export function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value * 2
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** Builds a message in format v0 or v1. */
export function buildOldMessage(format: 0 | 1, offset: number, value: Buffer): Buffer {
  const body = new KafkaEncoder().writeInt8(format).writeInt8(0)
  if (format === 1) body.writeInt64(1_000 + offset)
  body.writeBytes(Buffer.from(`key ${offset}`)).writeBytes(value)
  const message = new KafkaEncoder().writeUInt32(crc32(body.buffer)).writeBuffer(body.buffer)
  return new KafkaEncoder().writeInt64(offset).writeBytes(message.buffer).buffer
}

/** Decodes the header and the keys of an encoded batch. */
export function describeBatch({ topic, partition, bytes }: EncodedBatch) {
  const reader = new RecordReader(unpack(bytes.readInt16BE(21) & 7, bytes.subarray(61)))
  const records = Array.from({ length: bytes.readInt32BE(57) }, (_, offset) => {
    reader.next()
    return reader.record(offset, 0)
  })
  return {
    to: `${topic}/${partition}`,
    producerId: Number(bytes.readBigInt64BE(43)),
    epoch: bytes.readInt16BE(51),
    sequence: bytes.readInt32BE(53),
    keys: records.map(({ key }) => String(key)),
  }
}
