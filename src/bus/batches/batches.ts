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

/** DecodedBatches is what a fetch brought of one partition. */
export interface DecodedBatches {
  /** In their order; a batch without wanted records is left out. */
  batches: BatchRecords[]
  /** The offset after the last one that was decoded, or could not be; null when there was none. */
  next: number | null
  /** Nothing can be said of what stands at the position before more is known. */
  unsure: Unsure | null
}

export interface Unsure {
  /** Why the batch cannot be read, where it ends nobody knows; null: it is not all there. */
  damage: unknown
  /** How many bytes the broker has to answer with for more to be known. */
  bytesNeeded: number
}

/** The format of all that brokers write since Kafka 0.11. */
const format = 2

/** A broker can tell the end of a log a moment before it reads it, and this much cannot have come in between. */
const newAtMost = 1 << 24

/** Bytes that are asked for beyond what was answered, where that does not tell enough. */
const leastMore = 1024 * 1024

/** Bytes whose checksums are looked at in search of a batch, for each byte that is searched. */
const searchEffort = 16

/**
 * Decodes batches, one after the other, without the last one if the broker has cut it off. Ends behind one that cannot be
 * read, which becomes a record: the next fetch brings a new list of aborted transactions, so that none stays open whose
 * end was in that batch.
 * @param end the high watermark: no batch reaches it, or not far beyond
 * @param whole whether the broker cannot have cut off the first one: it never does where one partition alone is asked for
 */
export async function decodeBatches(
  bytes: Buffer,
  end: number,
  wanted: WantedRecords,
  whole = false,
): Promise<DecodedBatches> {
  const batches: BatchRecords[] = []
  let next: number | null = null
  const stopped = (unsure: Unsure): DecodedBatches =>
    next !== null && next > wanted.from ? { batches, next, unsure: null } : { batches, next, unsure }
  let rest = bytes
  while (rest.length > 0 && wanted.room > 0) {
    const place: Place = { rest, least: next ?? 0, end }
    const size = sizeOf(rest)
    if (size > rest.length && !(whole && rest === bytes)) {
      return stopped({ damage: null, bytesNeeded: bytes.length - rest.length + size })
    }
    const read = await decodeAt(place, wanted)
    if (read.ok) {
      if (read.batch.records.length > 0) batches.push(read.batch)
      next = read.batch.cutAt ?? read.batch.lastOffset + 1
      if (read.batch.cutAt !== null) break
      rest = rest.subarray(size)
      continue
    }
    const behind = behindDamaged(place, read)
    if (!behind) return stopped({ damage: read.error, bytesNeeded: 2 * bytes.length + leastMore })
    if (behind.offset > wanted.from) {
      batches.push(unreadable(place, read.error, behind.offset - 1, wanted.from))
      next = behind.offset
      break
    }
    rest = behind.rest // brokers can begin with a damaged batch wherever behind it one asks
  }
  return { batches, next, unsure: null }
}

/** Place says where a batch should stand. */
interface Place {
  rest: Buffer
  /** The offset behind the batch before; 0: there was none. */
  least: number
  end: number
}

type Read = { ok: true; batch: RecordBatch } | { ok: false; error: unknown; misplaced: boolean }

/** The size that a batch states of itself; no checksum holds that. */
function sizeOf(rest: Buffer): number {
  return rest.length < prefixBytes ? leastMore : Math.max(prefixOf(rest).bytes, prefixBytes)
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
    return { ok: false, error, misplaced: false }
  }
  return { ...damaged('its offsets are not those of its place in the log'), misplaced: true }
}

function damaged(why: string) {
  return { ok: false as const, error: new UnreadableBatch('BATCH_CORRUPT', why), misplaced: false }
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

/** Tells where to go on behind a batch that cannot be read; null: what is here does not tell. */
function behindDamaged(place: Place, { misplaced }: { misplaced: boolean }): Behind | null {
  const { rest } = place
  const stated = misplaced ? null : statedEnd(place)
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

/** One record stands for all of them, where reading goes on or where its batch begins. */
function unreadable({ rest, least }: Place, error: unknown, lastOffset: number, from: number): BatchRecords {
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
