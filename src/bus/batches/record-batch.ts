import pLimit from 'p-limit'
import type { BusRecord } from '../port.ts'
import { unpackAside, unpackSmall } from './codecs.ts'
import { crc32c } from './crc32c.ts'
import { RecordReader } from './record-reader.ts'
import { atOnce, isRestDue, rest, type Steps, stretchBytes, withRests } from './steps.ts'
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

export const headerBytes = at.records
/** Bytes in front of what a batch's length counts. */
const lengthEnds = 12
/** Every batch begins with so many bytes, until its format. */
export const prefixBytes = at.magic + 1

/** A batch as far as its first bytes tell, whatever its format. */
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

/** BatchContext is what all records of a batch have in common. */
export interface BatchContext {
  /** A control batch holds the marker that ends a transaction. */
  isControl: boolean
  producerId: bigint
  inTransaction: boolean
}

/** Those records of a batch that are wanted. */
export interface BatchRecords extends BatchContext {
  records: BusRecord[]
}

export interface RecordBatch extends BatchRecords {
  /** The offset of its last record, read or not. */
  lastOffset: number
  /** The first offset that had no room; null: all of it is there. */
  cutAt: number | null
}

/** WantedRecords says which records of a batch are wanted. */
export interface WantedRecords {
  /** The first offset. */
  from: number
  /** Bytes of memory that are left for them; the last one may take more, and the first one always has room. */
  room: number
  mark?: Mark | undefined
}

/**
 * Mark says how far one reader has read a batch that is too large to be read at once, so that it need not go through it
 * anew.
 */
export interface Mark {
  header: Buffer
  /** The next record: its offset, where it stands among the unpacked bytes, and how many there are from it on. */
  offset: number
  at: number
  left: number
}

export const noMark = (): Mark => ({ header: Buffer.alloc(0), offset: -1, at: 0, left: 0 })

/**
 * The memory that a record takes beside its bytes, with what the worker makes of it: the smallest are packed into less than
 * one byte each.
 */
const recordBytes = 512
/** The memory that a header takes beside its bytes. */
const headerMemory = 250

/** Takes the room of a record. @returns whether there was some */
function takeRoom(wanted: WantedRecords, bytes: number): boolean {
  if (wanted.room <= 0) return false
  wanted.room -= bytes + recordBytes
  return true
}

/** The offset of a batch's last record; it stays what it was when compaction takes that record. */
export function lastOffsetOf(bytes: Buffer): number {
  return bytes.length < at.records ? -1 : prefixOf(bytes).firstOffset + bytes.readInt32BE(at.lastOffsetDelta)
}

export function contextOf(bytes: Buffer): BatchContext & { timestamp: number; hasAppendTime: boolean } {
  const flags = bytes.readInt16BE(at.attributes)
  const hasAppendTime = (flags & attributes.logAppendTime) !== 0
  return {
    hasAppendTime,
    /** The timestamp of its first record, or of all records where the broker has stamped them. */
    timestamp: Number(bytes.readBigInt64BE(hasAppendTime ? at.maxTimestamp : at.firstTimestamp)),
    isControl: (flags & attributes.control) !== 0,
    producerId: bytes.readBigInt64BE(at.producerId),
    inTransaction: (flags & attributes.transactional) !== 0,
  }
}

function packedRecords(bytes: Buffer): { codec: number; packed: Buffer } {
  return { codec: bytes.readInt16BE(at.attributes) & attributes.codec, packed: bytes.subarray(at.records) }
}

export function isIntact(bytes: Buffer): boolean {
  return bytes.length >= at.records && crc32c(bytes.subarray(at.attributes)) === bytes.readUInt32BE(at.crc)
}

/** Each large batch takes up to 64 MiB. */
const oneLargeAtATime = pLimit(1)

/**
 * Decodes the records that are wanted, as far as there is room, and marks where that ended. The others are looked at as
 * well, so that a batch can be read or not wherever reading it begins. The event loop goes on meanwhile.
 * @throws UnreadableBatch
 */
export async function decodeBatch(bytes: Buffer, wanted: WantedRecords): Promise<RecordBatch> {
  if (bytes.length < at.records) throw new UnreadableBatch('BATCH_CORRUPT', 'it is shorter than its header')
  if (!isIntact(bytes)) throw new UnreadableBatch('BATCH_CORRUPT', 'its checksum is wrong')
  const { codec, packed } = packedRecords(bytes)
  const small = unpackSmall(codec, packed)
  if (small === null) {
    return oneLargeAtATime(async () => withRests(decodeRecords(bytes, await unpackAside(codec, packed), wanted)))
  }
  if (isRestDue(small.length)) await rest()
  return atOnce(decodeRecords(bytes, small, wanted))
}

/** @param bytes the batch @param unpacked its records */
function* decodeRecords(bytes: Buffer, unpacked: Buffer, wanted: WantedRecords): Steps<RecordBatch> {
  const reader = new RecordReader(unpacked)
  const { hasAppendTime, timestamp, ...context } = contextOf(bytes)
  const { firstOffset } = prefixOf(bytes)
  const lastOffset = lastOffsetOf(bytes)
  const header = bytes.subarray(0, at.records)
  const { mark } = wanted
  const isMarked = mark !== undefined && mark.offset === wanted.from && mark.header.equals(header)
  const records: BusRecord[] = []
  let cutAt: number | null = null
  let cut = { at: 0, left: 0 }
  let next = firstOffset
  let left = bytes.readInt32BE(at.recordCount)
  if (isMarked) {
    reader.at = mark.at
    left = mark.left
  }
  let restsAt = reader.at + stretchBytes
  for (; left > 0; left--) {
    const begin = reader.at
    reader.next()
    if (begin >= restsAt) {
      yield
      restsAt = begin + stretchBytes
    }
    const offset = firstOffset + reader.offsetDelta
    if (offset < next || offset > lastOffset) throw new UnreadableBatch('BATCH_CORRUPT', 'its offsets are out of order')
    next = offset + 1
    if (offset < wanted.from || cutAt !== null || !takeRoom(wanted, reader.length)) {
      if (offset >= wanted.from && cutAt === null) {
        cutAt = offset
        cut = { at: begin, left }
        if (isMarked) break // the rest was looked at when the mark was made
      }
      reader.pass()
      continue
    }
    records.push(reader.record(offset, hasAppendTime ? timestamp : timestamp + reader.timestampDelta))
    wanted.room -= reader.headers * headerMemory
  }
  if (cutAt === null || !isMarked) reader.finish()
  if (cutAt !== null && mark) Object.assign(mark, { ...cut, header: Buffer.from(header), offset: cutAt })
  return { ...context, lastOffset, records, cutAt }
}
