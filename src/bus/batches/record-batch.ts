import { setImmediate } from 'node:timers/promises'
import type { BusRecord } from '../port.ts'
import { codecNumbers, unpack } from './codecs.ts'
import { crc32c } from './crc32c.ts'
import { RecordReader } from './record-reader.ts'
import { type RecordsLeft, UnfinishedBatches } from './unfinished.ts'
import { UnreadableBatch } from './unreadable.ts'

/*
 * Record batches in format v2 (KIP-98), used since Kafka 0.11:
 * https://kafka.apache.org/documentation/#recordbatch
 */

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
/** Bytes that a batch's length field does not count. */
const lengthEnds = 12
/** Bytes of a batch up to and including its magic byte. */
export const prefixBytes = at.magic + 1

/**
 * The first fields of a batch, the same in every format. `bytes` is the size of the whole batch; below the smallest possible
 * size if they are garbage.
 */
export function prefixOf(bytes: Buffer): { firstOffset: number; bytes: number; magic: number } {
  return {
    firstOffset: Number(bytes.readBigInt64BE(at.firstOffset)),
    bytes: lengthEnds + bytes.readInt32BE(at.length),
    magic: bytes[at.magic]!,
  }
}

/** Properties that all records of a batch share. */
export interface BatchContext {
  /** A control batch holds the marker that ends a transaction. */
  isControl: boolean
  producerId: bigint
  inTransaction: boolean
}

export interface BatchRecords extends BatchContext {
  records: BusRecord[]
}

export interface RecordBatch extends BatchRecords {
  /** Offset of the batch's last record, whether decoded or not. */
  lastOffset: number
  /** First offset for which there was no room; null if all are decoded. */
  cutAt: number | null
}

/** Which records of a batch to decode. */
export interface WantedRecords {
  from: number
  /** Bytes of memory left. The first record always fits, and the last one may exceed it. */
  room: number
}

/**
 * Memory of a record besides its bytes, including its decoded form. The smallest records compress to less than a byte each.
 */
const recordBytes = 512
/** Memory of a header besides its bytes. */
const headerMemory = 250

/** Reserves memory for a record. @returns false if there is none left */
function takeRoom(wanted: WantedRecords, bytes: number): boolean {
  if (wanted.room <= 0) return false
  wanted.room -= bytes + recordBytes
  return true
}

/** Offset of a batch's last record. Compaction keeps the field even if it removes that record. */
export function lastOffsetOf(bytes: Buffer): number {
  return bytes.length < at.records ? -1 : prefixOf(bytes).firstOffset + bytes.readInt32BE(at.lastOffsetDelta)
}

export function contextOf(bytes: Buffer): BatchContext & { timestamp: number; hasAppendTime: boolean } {
  const flags = bytes.readInt16BE(at.attributes)
  const hasAppendTime = (flags & attributes.logAppendTime) !== 0
  return {
    hasAppendTime,
    /** Timestamp of the first record, or of all records where the broker sets it (LogAppendTime). */
    timestamp: Number(bytes.readBigInt64BE(hasAppendTime ? at.maxTimestamp : at.firstTimestamp)),
    isControl: (flags & attributes.control) !== 0,
    producerId: bytes.readBigInt64BE(at.producerId),
    inTransaction: (flags & attributes.transactional) !== 0,
  }
}

const codecOf = (bytes: Buffer): number => bytes.readInt16BE(at.attributes) & attributes.codec

export function isIntact(bytes: Buffer): boolean {
  return bytes.length >= at.records && crc32c(bytes.subarray(at.attributes)) === bytes.readUInt32BE(at.crc)
}

/** Bytes of work between two yields to the event loop. */
const stretchBytes = 1024 * 1024
/** Decompressed bytes since the last yield. */
let workedOn = 0

const unfinished = new UnfinishedBatches()

/**
 * Decodes the wanted records as far as there is room. Validates the other records too, so that a batch is readable or not
 * regardless of where reading begins. Yields to the event loop between batches.
 * @throws UnreadableBatch
 */
export async function decodeBatch(bytes: Buffer, wanted: WantedRecords): Promise<RecordBatch> {
  const known = unfinished.take(bytes, wanted.from)
  if (known) return decodeRecords(bytes, known, wanted, true)
  if (bytes.length < at.records) throw new UnreadableBatch('BATCH_CORRUPT', 'it is shorter than its header')
  if (!isIntact(bytes)) throw new UnreadableBatch('BATCH_CORRUPT', 'its checksum is wrong')
  const unpacked = unpack(codecOf(bytes), bytes.subarray(at.records))
  workedOn += unpacked.length
  if (workedOn >= stretchBytes) {
    workedOn = 0
    await setImmediate()
  }
  const all = { unpacked, at: 0, offset: prefixOf(bytes).firstOffset, count: bytes.readInt32BE(at.recordCount) }
  return decodeRecords(bytes, all, wanted, false)
}

/** @param isValid whether the records were validated before */
function decodeRecords(bytes: Buffer, left: RecordsLeft, wanted: WantedRecords, isValid: boolean): RecordBatch {
  const reader = new RecordReader(left.unpacked, left.at)
  const { hasAppendTime, timestamp, ...context } = contextOf(bytes)
  const { firstOffset } = prefixOf(bytes)
  const lastOffset = lastOffsetOf(bytes)
  const records: BusRecord[] = []
  let rest: RecordsLeft | null = null
  let next = left.offset
  for (let { count } = left; count > 0 && !(isValid && rest); count--) {
    const begin = reader.at
    reader.next()
    const offset = firstOffset + reader.offsetDelta
    if (offset < next || offset > lastOffset) throw new UnreadableBatch('BATCH_CORRUPT', 'its offsets are out of order')
    next = offset + 1
    if (offset < wanted.from || rest !== null || !takeRoom(wanted, reader.length)) {
      if (offset >= wanted.from) rest ??= { unpacked: left.unpacked, at: begin, offset, count }
      reader.pass()
      continue
    }
    records.push(reader.record(offset, hasAppendTime ? timestamp : timestamp + reader.timestampDelta))
    wanted.room -= reader.headers * headerMemory
  }
  if (rest === null || !isValid) reader.finish()
  if (rest !== null && codecOf(bytes) !== codecNumbers.none) unfinished.keep(bytes, rest)
  return { ...context, lastOffset, records, cutAt: rest?.offset ?? null }
}
