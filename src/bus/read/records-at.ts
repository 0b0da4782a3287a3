import type { BusRecord, TopicPartition } from '../port.ts'
import { contentBytesOf } from '../record-size.ts'
import { type Fetch, type FetchedRecords, fetchCommitted } from './fetch.ts'
import type { PartitionOffsets } from './partition-offsets.ts'
import { errorTypeOf } from './read-back-off.ts'

/** Bytes of a fetch for a single offset, and of one while the wanted offsets are close together. */
const leastBytes = 32 * 1024
const mostBytes = 1024 * 1024
/** Wanted offsets that are closer are read in one go. */
const closeBy = 1_000
const room = 8 * 1024 * 1024
/** The others are left for the next call. */
const mostFound = 4 * 1024 * 1024

export interface RecordsAtOptions {
  /** Fetches from the partition's leader. */
  fetch: Fetch
  logs: Pick<PartitionOffsets, 'untilAnswered'>
}

/** Reads single records of a partition: many at once where they are close together, few bytes where they are not. */
export async function recordsAt(
  { fetch, logs }: RecordsAtOptions,
  tp: TopicPartition,
  offsets: readonly number[],
): Promise<{ records: BusRecord[]; readable: number }> {
  const records: BusRecord[] = []
  let bytes = leastBytes
  let found = 0
  /** Where the last fetch ended; 0 if the log did not hold its offset. */
  let next = 0
  for (let i = 0; i < offsets.length; ) {
    const isClose = next > 0 && offsets[i]! - next < closeBy
    bytes = isClose ? Math.min(4 * bytes, mostBytes) : leastBytes
    const position = { tp, offset: isClose ? next : offsets[i]! }
    const fetched = await logs.untilAnswered(tp, () => readAt(fetch, position, bytes))
    if (fetched === null) {
      i++
      next = 0
      continue
    }
    const wanted = new Set<number>()
    for (; i < offsets.length && offsets[i]! < fetched.next; i++) wanted.add(offsets[i]!)
    for (const record of fetched.records) {
      if (!wanted.has(record.offset)) continue
      records.push(record)
      found += contentBytesOf(record)
    }
    if (fetched.next <= position.offset) return { records, readable: position.offset }
    if (found > mostFound) return { records, readable: fetched.next }
    next = fetched.next
  }
  return { records, readable: Number.POSITIVE_INFINITY }
}

/** @returns null if the log does not hold the offset */
async function readAt(
  fetch: Fetch,
  position: { tp: TopicPartition; offset: number },
  partitionBytes: number,
): Promise<FetchedRecords | null> {
  const limits = { waitMs: 0, partitionBytes, roomPerPartition: room }
  const fetched = (await fetchCommitted(fetch, [position], limits)).get(position)
  if (!fetched) throw new Error("the broker's answer left out the requested partition")
  if (fetched.ok) return fetched
  if (errorTypeOf(fetched.error) === 'OFFSET_OUT_OF_RANGE') return null
  throw fetched.error
}
