import * as zlib from 'node:zlib'
import { newHeaders } from '../record-headers.ts'
import { unpack } from './codecs.ts'
import type { DecodedMessage } from './internals.ts'
import { lengthEnds, prefixOf, type RecordBatch } from './record-batch.ts'
import { mostItems, tooManyItems, UnreadableBatch } from './unreadable.ts'

/*
 * Messages of the formats v0 and v1, which producers wrote until Kafka 0.11 and old topics still hold. The value of one
 * that is compressed is a set of them: https://kafka.apache.org/documentation/#messageset
 */

/** Where the fields of a message are; from `timestamp` on for v1, and 8 bytes earlier for v0, which has none. */
const at = { crc: lengthEnds, magic: 16, attributes: 17, timestamp: 18, key: 26 }
const attributes = { codec: 0x07, logAppendTime: 0x08 }

/** They know no transactions. */
export const noContext = { batchContext: { producerId: '-1', inTransaction: false } }

interface OldMessage {
  offset: number
  timestamp: number
  key: Buffer | null
  value: Buffer | null
}

/** @throws Error when it is none, or its set is not */
export function decodeOldMessage(bytes: Buffer): RecordBatch {
  const { magic } = prefixOf(bytes)
  if (bytes.readUInt32BE(at.crc) !== zlib.crc32(bytes.subarray(at.magic))) {
    throw new UnreadableBatch('BATCH_CORRUPT', 'its checksum is wrong')
  }
  const flags = bytes[at.attributes]!
  const outer = readMessage(Buffer.from(bytes)) // its key and value hold on to it, and not to the whole fetch
  const codec = flags & attributes.codec
  const set = codec === 0 ? [outer] : readSet(unpack(codec, outer.value ?? Buffer.alloc(0)))
  // since v1 the messages of a set are counted from 0, and the one around them has the offset of the last
  const base = codec === 0 || magic === 0 ? 0 : outer.offset - set.at(-1)!.offset
  if (!isRising(set, outer.offset - base)) throw new UnreadableBatch('BATCH_CORRUPT', 'its offsets are out of order')
  const appendedAt = flags & attributes.logAppendTime ? outer.timestamp : null
  return {
    lastOffset: outer.offset,
    unpacked: set.reduce((sum, { value }) => sum + (value?.length ?? 0), 0),
    items: set.length,
    messages: set.map(
      ({ offset, timestamp, key, value }): DecodedMessage => ({
        offset: base + offset,
        timestamp: appendedAt ?? timestamp,
        key,
        value,
        headers: newHeaders(),
        isControlRecord: false,
        ...noContext,
      }),
    ),
  }
}

/** Whether each offset is beyond the one before, and none beyond the last that there can be. */
function isRising(set: readonly OldMessage[], last: number): boolean {
  return set.every(({ offset }, i) => offset > (set[i - 1]?.offset ?? -1) && offset <= last)
}

function readSet(bytes: Buffer): OldMessage[] {
  const set: OldMessage[] = []
  for (let rest = bytes; rest.length > 0 || set.length === 0; ) {
    const message = rest.subarray(0, Math.max(0, prefixOf(rest).bytes))
    if (set.length >= mostItems) throw tooManyItems()
    set.push(readMessage(message))
    rest = rest.subarray(message.length)
  }
  return set
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
