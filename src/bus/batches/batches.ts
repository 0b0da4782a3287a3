import {
  type BatchRecords,
  contextOf,
  decodeBatch,
  isIntact,
  lastOffsetOf,
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
  /** The offset after the last decoded one; 0 if nothing was decoded. */
  next: number
  /** The next batch, if it cannot be read; null if there is none, or no room for it. */
  stuck: StuckBatch | null
  /** The bytes from the first batch on that was not decoded, or not to its end, because there was no room. */
  rest: Buffer
}

/** A batch that is damaged or truncated. */
export interface StuckBatch {
  /** The batch and the bytes of the answer that follow it. */
  rest: Buffer
  error: unknown
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

/** Decodes consecutive batches up to the first that cannot be read. @param end the high watermark */
export async function decodeBatches(bytes: Buffer, end: number, wanted: WantedRecords): Promise<DecodedBatches> {
  const batches: BatchRecords[] = []
  let next = 0
  let rest = bytes
  for (; rest.length > 0 && wanted.room > 0; rest = rest.subarray(sizeOf(rest))) {
    try {
      const batch = await decodeFirst(rest, { least: next, end }, wanted)
      if (batch.records.length > 0) batches.push(batch)
      next = batch.cutAt ?? batch.lastOffset + 1
      if (batch.cutAt !== null) break
    } catch (error) {
      return { batches, next, stuck: { rest, error, isCutOff: sizeOf(rest) > rest.length }, rest }
    }
  }
  return { batches, next, stuck: null, rest }
}

/** The size that the batch's header states. No checksum covers it. */
function sizeOf(rest: Buffer): number {
  return rest.length < prefixBytes ? prefixBytes : Math.max(prefixOf(rest).bytes, prefixBytes)
}

/** @param least the offset after the previous batch @throws UnreadableBatch */
async function decodeFirst(
  rest: Buffer,
  { least, end }: { least: number; end: number },
  wanted: WantedRecords,
): Promise<RecordBatch> {
  const size = sizeOf(rest)
  if (size > rest.length) throw damaged("it is longer than the broker's answer")
  const { firstOffset, magic } = prefixOf(rest)
  if (magic !== format) throw damaged(`it has format v${magic} instead of v2 (Kafka 0.11 and newer)`)
  const batch = await decodeBatch(rest.subarray(0, size), wanted)
  const { lastOffset } = batch
  const isPossible = firstOffset >= least && lastOffset < end + newAtMost
  const isExpected = firstOffset <= Math.max(least, wanted.from)
  if (isPossible && (isExpected || !isFollowedTooSoon(rest.subarray(size), lastOffset))) return batch
  throw damaged('its offsets do not belong at this place in the log')
}

function damaged(why: string): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', why)
}

/**
 * No checksum covers the first offset; trusting a corrupt one would skip the batches that follow. Checked only if offsets are
 * missing before the batch, as they are after compaction.
 */
function isFollowedTooSoon(behind: Buffer, lastOffset: number): boolean {
  return behind.length >= prefixBytes && prefixOf(behind).firstOffset <= lastOffset
}

/**
 * The one record that represents the whole batch, if what its header states can be trusted; else null.
 * @param end the high watermark
 */
export function unreadableBatch({ rest, error }: StuckBatch, from: number, end: number): BatchRecords | null {
  const size = sizeOf(rest)
  const batch = rest.subarray(0, size)
  if (!isIntact(batch)) return null
  const first = Math.max(prefixOf(batch).firstOffset, from)
  const last = lastOffsetOf(batch)
  if (last < first || last >= end + newAtMost || isFollowedTooSoon(rest.subarray(size), last)) return null
  const { producerId, inTransaction, timestamp } = contextOf(batch)
  const record = unreadableRecord(first, error, last, timestamp)
  return { isControl: false, producerId, inTransaction, records: [record] }
}

/**
 * First offset of the batch at the start of an answer; null if there is none, or it is damaged.
 * @param end the high watermark
 */
export function startOf(answer: Buffer, end: number): number | null {
  const batch = answer.subarray(0, sizeOf(answer))
  if (!isIntact(batch)) return null
  const { firstOffset } = prefixOf(batch)
  return firstOffset >= 0 && firstOffset < end + newAtMost ? firstOffset : null
}
