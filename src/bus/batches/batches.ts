import { noTime } from '../record-time.ts'
import {
  type BatchRecords,
  contextOf,
  decodeBatch,
  isIntact,
  lastOffsetOf,
  type Prefix,
  prefixBytes,
  prefixOf,
  type RecordBatch,
  type WantedRecords,
} from './record-batch.ts'
import { UnreadableBatch, unreadableRecord } from './unreadable.ts'

/** The decoded part of one partition's fetch answer. */
export interface DecodedBatches {
  /** In order; batches without wanted records are left out. */
  batches: BatchRecords[]
  /** The offset after the last decoded one; null if nothing was decoded. */
  next: number | null
  /** The next batch, if it cannot be read; null if there is none, or no room for it. */
  stuck: StuckBatch | null
}

/** A batch that is corrupt or truncated. */
export interface StuckBatch {
  /** The batch and the bytes of the answer that follow it. */
  rest: Buffer
  /** The offset after the previous batch; 0 if there was none. */
  least: number
  /** The high watermark: a batch can end only slightly beyond it. */
  end: number
  error: unknown
  /** Whether the batch is intact, but its offsets do not belong at this place in the log. */
  isMisplaced: boolean
  /** Whether the answer ends inside the batch. Brokers truncate the last batch of an answer. */
  isCutOff: boolean
}

/** The record format since Kafka 0.11. */
const format = 2

/**
 * Tolerance beyond the high watermark: a broker reads the high watermark shortly before it reads the log, and more records
 * cannot arrive in between.
 */
const newAtMost = 1 << 24

/** Budget of checksummed bytes in the search for the next batch, per searched byte. */
const searchEffort = 16

/** Decodes consecutive batches up to the first that cannot be read. @param end the high watermark */
export async function decodeBatches(bytes: Buffer, end: number, wanted: WantedRecords): Promise<DecodedBatches> {
  const batches: BatchRecords[] = []
  let next: number | null = null
  for (let rest = bytes; rest.length > 0 && wanted.room > 0; ) {
    const place: Place = { rest, least: next ?? 0, end }
    const read = await decodeAt(place, wanted)
    if (!read.ok) return { batches, next, stuck: { ...place, ...read, isCutOff: sizeOf(rest) > rest.length } }
    if (read.batch.records.length > 0) batches.push(read.batch)
    next = read.batch.cutAt ?? read.batch.lastOffset + 1
    if (read.batch.cutAt !== null) break
    rest = rest.subarray(sizeOf(rest))
  }
  return { batches, next, stuck: null }
}

type Place = Pick<StuckBatch, 'rest' | 'least' | 'end'>

type Read = { ok: true; batch: RecordBatch } | { ok: false; error: unknown; isMisplaced: boolean }

/** The size that the batch's header states. No checksum covers it. */
function sizeOf(rest: Buffer): number {
  return rest.length < prefixBytes ? prefixBytes : Math.max(prefixOf(rest).bytes, prefixBytes)
}

async function decodeAt({ rest, least, end }: Place, wanted: WantedRecords): Promise<Read> {
  const size = sizeOf(rest)
  if (size > rest.length) return damaged("it is longer than the broker's answer")
  const prefix = prefixOf(rest)
  if (prefix.magic !== format) return damaged(`it has format v${prefix.magic} instead of v2 (Kafka 0.11 and newer)`)
  try {
    const batch = await decodeBatch(rest.subarray(0, size), wanted)
    const { lastOffset } = batch
    const isPossible = prefix.firstOffset >= least && lastOffset < end + newAtMost
    const isExpected = prefix.firstOffset <= Math.max(least, wanted.from)
    if (isPossible && (isExpected || !isFollowedTooSoon(rest.subarray(size), { least, end }, lastOffset))) {
      return { ok: true, batch }
    }
  } catch (error) {
    return { ok: false, error, isMisplaced: false }
  }
  return { ...damaged('its offsets do not belong at this place in the log'), isMisplaced: true }
}

function damaged(why: string) {
  return { ok: false as const, error: new UnreadableBatch('BATCH_CORRUPT', why), isMisplaced: false }
}

/**
 * No checksum covers the first offset; trusting a corrupt one would skip the batches that follow. Checked only if offsets are
 * missing before the batch, as they are after compaction.
 */
function isFollowedTooSoon(behind: Buffer, bounds: Omit<Place, 'rest'>, lastOffset: number): boolean {
  if (behind.length < prefixBytes || prefixOf(behind).firstOffset > lastOffset) return false
  const start = startOf(behind, bounds)
  return start !== null && start <= lastOffset
}

interface Behind {
  /** The offset at which to continue: of the next batch found, or after the stated last offset of the stuck batch. */
  offset: number
  rest: Buffer
}

/** Where to continue after a batch that cannot be read; null if the answer does not show it. */
export function skipStuck({ isMisplaced, ...place }: StuckBatch): Behind | null {
  const { rest } = place
  const stated = isMisplaced ? null : statedEnd(place)
  return stated === null ? intactBehind(place) : { offset: stated + 1, rest: rest.subarray(sizeOf(rest)) }
}

/** The last offset of a batch with a valid checksum that cannot be decoded. */
function statedEnd({ rest, least, end }: Place): number | null {
  const size = sizeOf(rest)
  if (size > rest.length) return null
  const batch = rest.subarray(0, size)
  if (!isIntact(batch)) return null
  const { firstOffset } = prefixOf(batch)
  const stated = lastOffsetOf(batch)
  return firstOffset >= least && stated >= firstOffset && stated < end + newAtMost ? stated : null
}

/** The next batch with a valid checksum: first along the stated lengths, then at any position. */
function intactBehind({ rest, ...bounds }: Place): Behind | null {
  for (let at = sizeOf(rest); at + prefixBytes <= rest.length; at += sizeOf(rest.subarray(at))) {
    const offset = startOf(rest.subarray(at), bounds)
    if (offset !== null) return { offset, rest: rest.subarray(at) }
  }
  let effort = searchEffort * rest.length
  for (let at = 1; at + prefixBytes <= rest.length; at++) {
    if (rest[at] !== 0 || rest[at + prefixBytes - 1] !== format) continue
    const here = rest.subarray(at)
    const size = sizeOf(here)
    if (size > here.length || !isWithin(prefixOf(here).firstOffset, bounds)) continue
    effort -= size
    if (effort < 0) return null
    const offset = startOf(here, bounds)
    if (offset !== null) return { offset, rest: here }
  }
  return null
}

const isWithin = (offset: number, { least, end }: Omit<Place, 'rest'>) => offset >= least && offset < end + newAtMost

/** First offset of the batch at the start of `rest`; null if there is none or its checksum is wrong. */
export function startOf(rest: Buffer, bounds: Omit<Place, 'rest'>): number | null {
  if (rest.length < prefixBytes) return null
  const batch = rest.subarray(0, sizeOf(rest))
  const { firstOffset, magic, bytes } = prefixOf(batch)
  if (bytes !== batch.length || !isWithin(firstOffset, bounds)) return null
  return magic >= format && isIntact(batch) ? firstOffset : null
}

/** Makes the one record that represents the whole batch, at its first offset or at `from`. */
export function unreadable({ rest, least, error }: StuckBatch, lastOffset: number, from: number): BatchRecords {
  const { firstOffset, magic } = rest.length < prefixBytes ? noPrefix : prefixOf(rest)
  const batch = rest.subarray(0, sizeOf(rest))
  const known = magic === format && isIntact(batch) ? contextOf(batch) : nothingKnown
  const { producerId, inTransaction, timestamp } = known
  const isPlausible = firstOffset >= least && firstOffset <= lastOffset
  const offset = Math.max(isPlausible ? firstOffset : least, from)
  return {
    isControl: false,
    producerId,
    inTransaction,
    records: [unreadableRecord(offset, error, lastOffset, timestamp)],
  }
}

const nothingKnown = { producerId: -1n, inTransaction: false, timestamp: noTime }
const noPrefix: Prefix = { firstOffset: -1, bytes: 0, magic: -1 }
