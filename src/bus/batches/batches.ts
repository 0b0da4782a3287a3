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

/** What a fetch brought of one partition. */
export interface DecodedBatches {
  /** In their order; a batch without wanted records is left out. */
  batches: BatchRecords[]
  /** The offset after the last one that was decoded; null: there was none. */
  next: number | null
  /** The batch behind them that cannot be read; null: there is none, or no room for it. */
  stuck: StuckBatch | null
}

/** A batch that is damaged, or not all there. */
export interface StuckBatch {
  /** The batch, and what the broker answered behind it. */
  rest: Buffer
  /** The offset behind the batch before; 0: there was none. */
  least: number
  /** The high watermark: no batch reaches it, or not far beyond. */
  end: number
  error: unknown
  /** Whether it is intact, but does not belong here. */
  isMisplaced: boolean
  /** Whether the answer ends before it does. Brokers cut off the last batch of an answer. */
  isCutOff: boolean
}

/** The format of all that brokers write since Kafka 0.11. */
const format = 2

/** A broker can tell the end of a log a moment before it reads it, and this much cannot have come in between. */
const newAtMost = 1 << 24

/** Bytes whose checksums are looked at in search of a batch, for each byte that is searched. */
const searchEffort = 16

/**
 * Decodes batches, one after the other, until one that cannot be read.
 * @param end the high watermark
 */
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

/** Where a batch should stand. */
type Place = Pick<StuckBatch, 'rest' | 'least' | 'end'>

type Read = { ok: true; batch: RecordBatch } | { ok: false; error: unknown; isMisplaced: boolean }

/** The size that a batch states of itself; no checksum holds that. */
function sizeOf(rest: Buffer): number {
  return rest.length < prefixBytes ? prefixBytes : Math.max(prefixOf(rest).bytes, prefixBytes)
}

async function decodeAt({ rest, least, end }: Place, wanted: WantedRecords): Promise<Read> {
  const size = sizeOf(rest)
  if (size > rest.length) return damaged('it is longer than what its broker has of it')
  const prefix = prefixOf(rest)
  if (prefix.magic !== format) return damaged(`it has the format v${prefix.magic}, and not v2 as since Kafka 0.11`)
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
  return { ...damaged('its offsets are not those of its place in the log'), isMisplaced: true }
}

function damaged(why: string) {
  return { ok: false as const, error: new UnreadableBatch('BATCH_CORRUPT', why), isMisplaced: false }
}

/**
 * No checksum holds the first offset: followed blindly, a damaged one would lead away from what stands behind. Asked of a
 * batch in front of which offsets are missing, as they are where compaction took them.
 */
function isFollowedTooSoon(behind: Buffer, bounds: Omit<Place, 'rest'>, lastOffset: number): boolean {
  if (behind.length < prefixBytes || prefixOf(behind).firstOffset > lastOffset) return false
  const start = startOf(behind, bounds)
  return start !== null && start <= lastOffset
}

interface Behind {
  /** The first offset behind the damaged batch, or behind what it states to be its last. */
  offset: number
  rest: Buffer
}

/** Tells where to go on behind a batch that cannot be read; null: what was answered does not tell. */
export function behindStuck({ isMisplaced, ...place }: StuckBatch): Behind | null {
  const { rest } = place
  const stated = isMisplaced ? null : statedEnd(place)
  return stated === null ? intactBehind(place) : { offset: stated + 1, rest: rest.subarray(sizeOf(rest)) }
}

/** The last offset of a batch whose checksum is right, though it cannot be decoded. */
function statedEnd({ rest, least, end }: Place): number | null {
  const size = sizeOf(rest)
  if (size > rest.length) return null
  const batch = rest.subarray(0, size)
  if (!isIntact(batch)) return null
  const { firstOffset } = prefixOf(batch)
  const stated = lastOffsetOf(batch)
  return firstOffset >= least && stated >= firstOffset && stated < end + newAtMost ? stated : null
}

/** The next batch whose checksum is right, where lengths lead to it; else wherever it begins. */
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

/** The first offset of the batch that stands here; null: none does, or it is damaged itself. */
export function startOf(rest: Buffer, bounds: Omit<Place, 'rest'>): number | null {
  if (rest.length < prefixBytes) return null
  const batch = rest.subarray(0, sizeOf(rest))
  const { firstOffset, magic, bytes } = prefixOf(batch)
  if (bytes !== batch.length || !isWithin(firstOffset, bounds)) return null
  return magic >= format && isIntact(batch) ? firstOffset : null
}

/** One record stands for all of the batch, where reading goes on or where it begins. */
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
