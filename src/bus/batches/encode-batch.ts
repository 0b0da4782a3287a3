import { batchFrameBytes } from '../record-limits.ts'
import type { Content } from '../record-size.ts'
import { type Compression, codecNumbers, leastCompressed, pack } from './codecs.ts'
import { crc32c } from './crc32c.ts'
import { encodeRecords } from './records-encoding.ts'

/** A producer's id and epoch. Brokers fence an older epoch of the same id. */
export interface ProducerIdentity {
  producerId: bigint
  epoch: number
}

export interface BatchFrame extends ProducerIdentity {
  /** Number of records that this epoch has written to the partition so far. */
  sequence: number
  transactional: boolean
  compression: Compression
  /** Timestamp of all records in the batch, milliseconds since 1970. */
  timestamp: number
}

/** Bytes that a batch's length field does not count: the base offset and the field itself. */
const beforeLength = 12
const format = 2
const transactionalFlag = 0x10

/** Encodes a record batch in format v2 (KIP-98): https://kafka.apache.org/documentation/#recordbatch */
export function encodeBatch(records: readonly Content[], frame: BatchFrame): Buffer {
  const plain = encodeRecords(records, batchFrameBytes)
  const codec = plain.length - batchFrameBytes < leastCompressed ? 'none' : frame.compression
  const batch = codec === 'none' ? plain : packed(plain, codec)
  const timestamp = BigInt(frame.timestamp)
  let at = batch.writeBigInt64BE(0n, 0) // base offset: the broker assigns it
  at = batch.writeInt32BE(batch.length - beforeLength, at)
  at = batch.writeInt32BE(-1, at) // partition leader epoch: the broker sets it
  const crcAt = batch.writeInt8(format, at)
  const checked = crcAt + 4
  at = batch.writeInt16BE(codecNumbers[codec] | (frame.transactional ? transactionalFlag : 0), checked)
  at = batch.writeInt32BE(records.length - 1, at)
  at = batch.writeBigInt64BE(timestamp, at)
  at = batch.writeBigInt64BE(timestamp, at)
  at = batch.writeBigInt64BE(frame.producerId, at)
  at = batch.writeInt16BE(frame.epoch, at)
  at = batch.writeInt32BE(frame.sequence, at)
  batch.writeInt32BE(records.length, at)
  batch.writeUInt32BE(crc32c(batch.subarray(checked)), crcAt)
  return batch
}

function packed(plain: Buffer, codec: Exclude<Compression, 'none'>): Buffer {
  const records = pack(codec, plain.subarray(batchFrameBytes))
  const batch = Buffer.allocUnsafe(batchFrameBytes + records.length)
  records.copy(batch, batchFrameBytes)
  return batch
}
