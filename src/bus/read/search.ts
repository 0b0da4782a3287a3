import pLimit from 'p-limit'
import { batchHolds, contextOf, headerBytes, lastOffsetOf, prefixBytes, prefixOf } from '../batches/record-batch.ts'
import { protocolError } from '../cluster/errors.ts'
import type { BusRecord, Needle, Query, Searched, TopicPartition } from '../port.ts'
import { timestampOf } from '../record-time.ts'
import { holds } from '../search.ts'
import { type Fetch, fetchCommitted } from './fetch.ts'
import type { FetchedPartition } from './fetch-api.ts'
import type { PartitionOffsets } from './partition-offsets.ts'

/** Bytes that are asked for at once: less costs more answers, more waits longer for the first of them. */
const fetchBytes = 8 * 1024 * 1024
const offsetOutOfRange = 1
/** The only format of batches that can be read. */
const format = 2
/** Batches that are unpacked at the same time: as many as Node has threads for it, and some that wait for one. */
const batchesAtOnce = 8
/** Bytes of memory that the records of one batch may take. */
const batchRoom = 256 * 1024 * 1024

/** Bytes that are asked for at once where batch after batch may hold a record that is looked for. */
const stretchBytes = 1024 * 1024
/** Batches so many offsets apart are read together: their records in between cost less than another request. */
const nearOffsets = 500

/** A part of a log that may hold a record that is looked for: a batch, or several that are near each other. */
interface Candidate {
  /** The place behind the batch before. */
  from: number
  last: number
  batches: number
}

export interface PartitionSearchOptions {
  /** Asks the partition's leader. */
  fetch: Fetch
  logs: Pick<PartitionOffsets, 'locate' | 'end' | 'patiently'>
}

/**
 * Fetches a partition's log and looks for the bytes in its batches, unpacked but not taken apart: that costs a fraction of
 * decoding their records. Only batches that hold the bytes are read as all others are, so that what was aborted or cannot
 * be read is treated in the same way.
 */
export async function searchLog(
  options: PartitionSearchOptions,
  tp: TopicPartition,
  { from, needles, ending, take }: Query,
): Promise<Searched> {
  const { fetch, logs } = options
  const patterns = needles.map(patternOf)
  const begin = await logs.locate(tp, from)
  const start = await logs.locate(tp, 'earliest')
  const end = await logs.end(tp)
  const records: BusRecord[] = []
  let unreadable = 0
  let since: number | null = null
  let reached = begin
  for (let fetching = begin < end ? fetchRaw(options, tp, begin) : null; fetching && !ending.aborted; ) {
    const { bytes } = await fetching
    const next = behind(bytes, reached)
    fetching = next > reached && next < end ? fetchRaw(options, tp, next) : null
    since ??= timeOf(bytes)
    for (const candidate of joined(await candidatesIn(bytes, reached, patterns))) {
      for await (const found of recordsIn(fetch, tp, candidate, end)) {
        const wanted = found.filter(record => !record.unreadable && holds(record, needles))
        unreadable += found.filter(record => record.unreadable).length
        if (take && wanted.length > 0) await take(wanted)
        else records.push(...wanted)
        if (ending.aborted) break
      }
      if (ending.aborted) break
    }
    reached = next
  }
  return { ...tp, from: begin, until: Math.min(reached, end), start, since, unreadable, records }
}

/** A key stands behind its length, which no longer id shares with it. */
function patternOf(needle: Needle): Buffer {
  if ('bytes' in needle) return needle.bytes
  const { key } = needle
  return key.length < 64 ? Buffer.concat([Buffer.from([key.length << 1]), key]) : key
}

async function fetchRaw(
  { fetch, logs }: PartitionSearchOptions,
  tp: TopicPartition,
  offset: number,
): Promise<FetchedPartition> {
  let at = offset
  return logs.patiently(tp, async () => {
    const bytes = { maxBytes: fetchBytes, partitionBytes: fetchBytes }
    const request = { waitMs: 0, ...bytes, rack: '', partitions: [{ tp, offset: at }] }
    const [found] = (await fetch(request)).partitions
    if (!found) throw new Error('the answer of the broker lacks what was requested')
    if (found.errorCode === offsetOutOfRange) at = await logs.locate(tp, 'earliest') // retention went on meanwhile
    if (found.errorCode) throw protocolError(found.errorCode)
    return found
  })
}

/**
 * Tells where to read on. A batch that was cut off is asked for anew; one of which nothing tells its end is passed
 * over.
 */
function behind(bytes: Buffer, offset: number): number {
  let next = offset
  for (const batch of batchesIn(bytes)) next = Math.max(next, endOf(batch) + 1)
  return next
}

function timeOf(bytes: Buffer): number | null {
  if (bytes.length < headerBytes) return null
  const time = timestampOf(contextOf(bytes).timestamp)
  return time < 0 ? null : time
}

async function candidatesIn(bytes: Buffer, offset: number, patterns: readonly Buffer[]): Promise<Candidate[]> {
  const turns = pLimit(batchesAtOnce)
  let from = offset
  const looks = [...batchesIn(bytes)].map(batch => {
    const candidate = { from, last: endOf(batch), batches: 1 }
    from = Math.max(from, candidate.last + 1)
    return turns(async () => ((await mayHold(batch, patterns)) ? [candidate] : []))
  })
  return (await Promise.all(looks)).flat()
}

/** Joins candidates that are near each other. */
function joined(candidates: readonly Candidate[]): Candidate[] {
  const stretches: Candidate[] = []
  for (const { from, last } of candidates) {
    const before = stretches.at(-1)
    if (before && from - before.last <= nearOffsets) Object.assign(before, { last, batches: before.batches + 1 })
    else stretches.push({ from, last, batches: 1 })
  }
  return stretches
}

/** Tells whether the batch may hold one of the patterns: one that cannot be looked into may. */
async function mayHold(batch: Buffer, patterns: readonly Buffer[]): Promise<boolean> {
  if (prefixOf(batch).magic !== format) return true
  if (contextOf(batch).isControl) return false
  try {
    return await batchHolds(batch, patterns)
  } catch {
    return true
  }
}

function* batchesIn(bytes: Buffer): Generator<Buffer> {
  for (let rest = bytes; rest.length >= prefixBytes; ) {
    const size = prefixOf(rest).bytes
    if (size < prefixBytes || size > rest.length) return
    yield rest.subarray(0, size)
    rest = rest.subarray(size)
  }
}

/** A batch of another format is taken for one record. */
function endOf(batch: Buffer): number {
  const { magic, firstOffset } = prefixOf(batch)
  return magic === format ? lastOffsetOf(batch) : firstOffset
}

/** Reads what is committed there, below `end`, some records at a time; where a batch cannot be read, what stands for it. */
async function* recordsIn(
  fetch: Fetch,
  tp: TopicPartition,
  { from, last, batches }: Candidate,
  end: number,
): AsyncGenerator<BusRecord[]> {
  const behind = Math.min(last + 1, end)
  const bytesPerPartition = batches === 1 ? 1 : stretchBytes
  for (let offset = from; offset < behind; ) {
    const position = { tp, offset }
    const limits = { waitMs: 0, bytesPerPartition, roomPerPartition: batchRoom }
    const fetched = (await fetchCommitted(fetch, [position], limits)).get(position)
    if (!fetched) throw new Error(`${tp.topic}/${tp.partition} cannot be read at offset ${offset}`)
    if (!fetched.ok) throw fetched.error
    yield fetched.records.filter(record => record.offset < behind)
    if (fetched.next <= offset) return
    offset = fetched.next
  }
}
