import { unpack } from './codecs.ts'
import { crc32c } from './crc32c.ts'
import type { DecodedMessage } from './internals.ts'
import { RecordReader } from './record-reader.ts'
import { UnreadableBatch } from './unreadable.ts'

/*
 * Record batches of the format v2 (KIP-98), the one that is written since Kafka 0.11:
 * https://kafka.apache.org/documentation/#recordbatch
 */

/** Where the fields of a batch's header are. */
const at = {
  firstOffset: 0,
  length: 8,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  firstTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  recordCount: 57,
  records: 61,
}
const attributes = { codec: 0x07, logAppendTime: 0x08, transactional: 0x10, control: 0x20 }

/** Bytes in front of what a batch's length counts. */
export const lengthEnds = 12
/** What begins every batch and every older message: until its format. */
export const prefixBytes = at.magic + 1

/** A batch, or a message of an older format, as far as its first bytes tell. */
export interface Prefix {
  firstOffset: number
  /** All of its bytes; less than there can be where they are garbage. */
  bytes: number
  magic: number
}

export function prefixOf(bytes: Buffer): Prefix {
  return {
    firstOffset: Number(bytes.readBigInt64BE(at.firstOffset)),
    bytes: lengthEnds + bytes.readInt32BE(at.length),
    magic: bytes[at.magic]!,
  }
}

export interface RecordBatch {
  lastOffset: number
  messages: DecodedMessage[]
  /** Bytes that it unpacked to. */
  unpacked: number
  /** How many records and headers it holds. */
  items: number
}

/** The offset of a batch's last record; it stays what it was when compaction takes that record. */
export function lastOffsetOf(bytes: Buffer): number {
  return bytes.length < at.records ? -1 : prefixOf(bytes).firstOffset + bytes.readInt32BE(at.lastOffsetDelta)
}

/** What all records of a batch have in common. A control batch holds the marker that ends a transaction. */
export function contextOf(bytes: Buffer) {
  const flags = bytes.readInt16BE(at.attributes)
  const hasAppendTime = (flags & attributes.logAppendTime) !== 0
  return {
    hasAppendTime,
    /** Of its first record, or of all where the broker has stamped them. */
    timestamp: Number(bytes.readBigInt64BE(hasAppendTime ? at.maxTimestamp : at.firstTimestamp)),
    isControl: (flags & attributes.control) !== 0,
    batchContext: {
      producerId: String(bytes.readBigInt64BE(at.producerId)),
      inTransaction: (flags & attributes.transactional) !== 0,
    },
  }
}

export function isIntact(bytes: Buffer): boolean {
  return bytes.length >= at.records && crc32c(bytes.subarray(at.attributes)) === bytes.readUInt32BE(at.crc)
}

/** @throws UnreadableBatch */
export function decodeBatch(bytes: Buffer): RecordBatch {
  if (bytes.length < at.records) throw new UnreadableBatch('BATCH_CORRUPT', 'it is shorter than its header')
  if (!isIntact(bytes)) throw new UnreadableBatch('BATCH_CORRUPT', 'its checksum is wrong')
  const flags = bytes.readInt16BE(at.attributes)
  const records = unpack(flags & attributes.codec, bytes.subarray(at.records))
  const reader = new RecordReader(records)
  const { isControl, batchContext, hasAppendTime, timestamp } = contextOf(bytes)
  const { firstOffset } = prefixOf(bytes)
  const lastOffset = lastOffsetOf(bytes)
  const messages: DecodedMessage[] = []
  let next = firstOffset
  for (let left = bytes.readInt32BE(at.recordCount); left > 0; left--) {
    const { timestampDelta, offsetDelta, key, value, headers } = reader.next()
    const offset = firstOffset + offsetDelta
    if (offset < next || offset > lastOffset) throw new UnreadableBatch('BATCH_CORRUPT', 'its offsets are out of order')
    next = offset + 1
    messages.push({
      offset,
      timestamp: hasAppendTime ? timestamp : timestamp + timestampDelta,
      key,
      value,
      headers,
      isControlRecord: isControl,
      batchContext,
    })
  }
  reader.end()
  return { lastOffset, messages, unpacked: records.length, items: reader.items }
}
