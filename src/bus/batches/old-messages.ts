import * as zlib from 'node:zlib'
import type { BusRecord } from '../port.ts'
import { noHeaders } from '../record-headers.ts'
import { timestampOf } from '../record-time.ts'
import { unpack } from './codecs.ts'
import {
  type BatchContext,
  lengthEnds,
  prefixBytes,
  prefixOf,
  type RecordBatch,
  takeRoom,
  type WantedRecords,
} from './record-batch.ts'
import { UnreadableBatch } from './unreadable.ts'

/*
 * Messages of the formats v0 and v1, which producers wrote until Kafka 0.11 and old topics still hold. The value of one
 * that is compressed is a set of them: https://kafka.apache.org/documentation/#messageset
 */

/** Where the fields of a message are; from `timestamp` on for v1, and 8 bytes earlier for v0, which has none. */
const at = { crc: lengthEnds, magic: 16, attributes: 17, timestamp: 18, key: 26 }
const attributes = { codec: 0x07, logAppendTime: 0x08 }

/** Messages of these formats know no transactions. */
export const noContext: BatchContext = { isControl: false, producerId: -1n, inTransaction: false }

interface OldMessage {
  offset: number
  timestamp: number
  key: Buffer | null
  value: Buffer | null
}

/** @throws Error when it is none, or its set is not */
export function decodeOldMessage(bytes: Buffer, wanted: WantedRecords): RecordBatch {
  if (!isIntactMessage(bytes)) throw new UnreadableBatch('BATCH_CORRUPT', 'its checksum is wrong')
  const { magic } = prefixOf(bytes)
  const flags = bytes[at.attributes]!
  const outer = readMessage(bytes)
  const codec = flags & attributes.codec
  const appendedAt = flags & attributes.logAppendTime ? outer.timestamp : null
  const batch: RecordBatch = { ...noContext, lastOffset: outer.offset, records: [], cutAt: null }
  let next = 0
  const take = (bytes: Buffer, offset: number) => {
    if (offset < next || offset > outer.offset) {
      throw new UnreadableBatch('BATCH_CORRUPT', 'its offsets are out of order')
    }
    next = offset + 1
    if (offset < wanted.from || batch.cutAt !== null) return
    if (takeRoom(wanted, bytes.length))
      batch.records.push(recordOf(readMessage(Buffer.from(bytes)), offset, appendedAt)) // they hold on to it alone
    else batch.cutAt = offset
  }
  if (codec === 0) {
    take(bytes, outer.offset)
    return batch
  }
  const set = unpack(codec, outer.value ?? Buffer.alloc(0))
  // since v1 the messages of a set are counted from 0, and the one around them has the offset of the last
  const base = magic === 0 ? 0 : outer.offset - lastOf(set)
  forEachMessage(set, (bytes, offset) => take(bytes, base + offset))
  return batch
}

export function isIntactMessage(bytes: Buffer): boolean {
  return bytes.length >= at.timestamp && bytes.readUInt32BE(at.crc) === zlib.crc32(bytes.subarray(at.magic))
}

function recordOf({ timestamp, key, value }: OldMessage, offset: number, appendedAt: number | null): BusRecord {
  return { offset, timestamp: timestampOf(appendedAt ?? timestamp), key, value, headers: noHeaders }
}

function lastOf(set: Buffer): number {
  let last = 0
  forEachMessage(set, (_, offset) => {
    last = offset
  })
  return last
}

/** @throws RangeError when the set does not hold whole messages */
function forEachMessage(set: Buffer, take: (bytes: Buffer, offset: number) => void): void {
  let begin = 0
  do {
    const { bytes, firstOffset } = prefixOf(set.subarray(begin))
    const end = begin + Math.max(bytes, prefixBytes)
    if (end > set.length) throw new RangeError('its set does not hold whole messages')
    take(set.subarray(begin, end), firstOffset)
    begin = end
  } while (begin < set.length)
}

function readMessage(bytes: Buffer): OldMessage {
  const { firstOffset: offset, magic } = prefixOf(bytes)
  const timestamp = magic === 0 ? -1 : Number(bytes.readBigInt64BE(at.timestamp))
  const keyAt = magic === 0 ? at.timestamp : at.key
  const key = readBytes(bytes, keyAt)
  const value = readBytes(bytes, keyAt + 4 + (key?.length ?? 0))
  return { offset, timestamp, key, value }
}

/** Bytes with their length in front of them. */
function readBytes(bytes: Buffer, from: number): Buffer | null {
  const length = bytes.readInt32BE(from)
  if (length === -1) return null
  const start = from + 4
  if (length < 0 || start + length > bytes.length) throw new RangeError('a key or value is longer than its message')
  return bytes.subarray(start, start + length)
}
