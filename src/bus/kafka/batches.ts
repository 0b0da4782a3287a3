import { newHeaders } from '../record-headers.ts'
import type { DecodedMessage } from './internals.ts'
import { decodeOldMessage, noContext } from './old-messages.ts'
import {
  contextOf,
  decodeBatch,
  isIntact,
  lastOffsetOf,
  type Prefix,
  prefixBytes,
  prefixOf,
  type RecordBatch,
} from './record-batch.ts'
import { UnreadableBatch } from './unreadable.ts'

/** What a fetch brought of one partition. */
export interface DecodedBatches {
  messages: DecodedMessage[]
  /** The offset after the last batch that was decoded, or could not be; null when there was none. */
  next: number | null
}

/**
 * Most bytes that the batches of one fetch may take in memory, and the last one of them beyond that; the rest is for the next
 * fetch. An honest fetch of 4 MiB stays below it.
 */
export const unpackedAtOnce = 64 * 1024 * 1024

/** What a record or a header takes in memory beside its bytes: the smallest are packed into less than one byte each. */
const itemBytes = 250

/** What is left to be unpacked of one fetch, shared by its partitions. */
export interface Allowance {
  bytes: number
}

const newestFormat = 2

/** A broker can tell the end of a log a moment before it reads it, and this much cannot have come in between. */
const newAtMost = 1 << 24

/**
 * Decodes batches, one after the other, without the last one if the broker has cut it off. Ends behind one that cannot be
 * read, which becomes a message: the next fetch brings a new list of aborted transactions, so that none stays open whose
 * end was in that batch.
 * @param end the high watermark: no batch reaches it, or not far beyond
 */
export function decodeBatches(bytes: Buffer, end: number, allowance: Allowance): DecodedBatches {
  const decoded: DecodedBatches = { messages: [], next: null }
  for (let rest = bytes; rest.length >= prefixBytes && allowance.bytes > 0; ) {
    const prefix = prefixOf(rest)
    if (prefix.bytes > rest.length) break
    const batch = rest.subarray(0, Math.max(prefix.bytes, prefixBytes))
    rest = rest.subarray(batch.length)
    try {
      const { messages, lastOffset, unpacked, items } = decode(batch, prefix)
      const begins = Math.min(prefix.firstOffset, Number(messages[0]?.offset ?? prefix.firstOffset))
      if (begins < (decoded.next ?? 0) || lastOffset >= end + newAtMost) throw misplaced()
      for (const message of messages) decoded.messages.push(message)
      decoded.next = lastOffset + 1
      allowance.bytes -= unpacked + items * itemBytes
    } catch (error) {
      const firstOffset = plausibleStart(prefix, decoded.next ?? 0, end)
      const lastOffset = plausibleEnd(batch, { ...prefix, firstOffset }, rest, end)
      decoded.messages.push(unreadable(batch, { ...prefix, firstOffset }, error, lastOffset))
      decoded.next = lastOffset + 1
      break
    }
  }
  return decoded
}

function decode(batch: Buffer, { magic }: Prefix): RecordBatch {
  if (magic === newestFormat) return decodeBatch(batch)
  if (magic < newestFormat) return decodeOldMessage(batch)
  throw new UnreadableBatch('BATCH_CORRUPT', `it has the unknown format v${magic}`)
}

/** No checksum holds the first offset: followed blindly, a damaged one would lead far away from the log. */
function misplaced(): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', 'its offsets are not those of its place in the log')
}

/** @param behind the offset after the batch before; 0: there was none, and it stands where the fetch began */
function plausibleStart({ firstOffset }: Prefix, behind: number, end: number): number {
  return firstOffset >= behind && firstOffset < end + newAtMost ? firstOffset : behind
}

/** A batch with a wrong checksum may be wrong about its length, too. */
function plausibleEnd(batch: Buffer, { firstOffset, magic }: Prefix, rest: Buffer, end: number): number {
  if (magic < newestFormat) return firstOffset
  const stated = lastOffsetOf(batch)
  if (isIntact(batch) && stated >= firstOffset && stated < end + newAtMost) return stated
  const following = rest.length >= prefixBytes ? prefixOf(rest).firstOffset - 1 : stated
  return following >= firstOffset && following < end ? following : firstOffset
}

function unreadable(batch: Buffer, { firstOffset, magic }: Prefix, error: unknown, lastOffset: number): DecodedMessage {
  const known = magic === newestFormat && isIntact(batch) ? contextOf(batch) : { ...noContext, timestamp: -1 }
  return {
    offset: firstOffset,
    timestamp: known.timestamp,
    key: null,
    value: null,
    headers: newHeaders(),
    isControlRecord: false,
    batchContext: known.batchContext,
    unreadable: { error, lastOffset },
  }
}
