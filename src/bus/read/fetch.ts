import { type DecodedBatches, decodeBatches, skipStuck, startOf, unreadable } from '../batches/batches.ts'
import { type BatchRecords, headerBytes, type WantedRecords } from '../batches/record-batch.ts'
import { unreadableRecord } from '../batches/unreadable.ts'
import { protocolError } from '../cluster/errors.ts'
import { PartitionMap } from '../partitions.ts'
import type { BusRecord, TopicPartition } from '../port.ts'
import type { AbortedTransaction, FetchAnswer, FetchedPartition, FetchRequest } from './fetch-api.ts'

/** Where to continue reading. */
export interface Position {
  tp: TopicPartition
  offset: number
}

/** Sends the request to the broker from which the positions are read. */
export type Fetch = (request: FetchRequest) => Promise<Pick<FetchAnswer, 'partitions'>>

export interface FetchLimits {
  /** Longest time that the broker may wait for a first record. */
  waitMs: number
  bytesPerPartition: number
  /** Bytes of memory for the records of each partition. The last record may exceed it. */
  roomPerPartition: number
  rack?: string
}

export type Fetched =
  | {
      ok: true
      /** An unreadable batch appears as one record, the last. */
      records: BusRecord[]
      /** Offset at which to continue. */
      next: number
      /** The high watermark. */
      highWatermark: number
      /** The last stable offset: end of what is readable while transactions are open. */
      stableOffset: number
      /** Node to read from instead; -1 if none. */
      preferredReplica: number
    }
  | { ok: false; error: unknown }

export type FetchedRecords = Extract<Fetched, { ok: true }>

const maxBytes = 4 * 1024 * 1024
/**
 * Bytes of memory for the records of one answer. The last partition may exceed it; the remaining records are fetched again.
 * Brokers bound only compressed sizes.
 */
const roomAtOnce = 64 * 1024 * 1024
/** Bytes to request for a damaged batch and those behind it. A larger one is still answered whole, because it comes first. */
const closeLook = 16 * 1024 * 1024
/** CORRUPT_MESSAGE: the broker finds no batch on its disk. */
const corruptMessage = 2

/**
 * The committed records from each position on, and where to continue. No partition may appear twice. Partitions are missing
 * when others fill the answer or the memory.
 * @param fetch also requests a single partition, to examine a damaged batch
 */
export async function fetchCommitted<P extends Position>(
  fetch: Fetch,
  positions: readonly P[],
  { roomPerPartition, ...terms }: FetchLimits,
): Promise<Map<P, Fetched>> {
  const answers = new PartitionMap<FetchedPartition>()
  for (const one of (await fetch({ ...termsOf(terms), partitions: positions })).partitions) answers.set(one, one)
  const fetched = new Map<P, Fetched>()
  let room = roomAtOnce
  for (const position of positions) {
    const found = answers.get(position.tp)
    if (!found || room <= 0) continue
    const wanted = { from: position.offset, room: Math.min(room, roomPerPartition) }
    const before = wanted.room
    fetched.set(position, await read(found, wanted, () => lookCloser(fetch, position, before).catch(failed)))
    room -= before - wanted.room
  }
  return fetched
}

/** @param lookCloser fetches more where the answer does not suffice to decide */
async function read(
  found: FetchedPartition,
  wanted: WantedRecords,
  lookCloser: () => Promise<Fetched>,
): Promise<Fetched> {
  if (found.errorCode) return { ok: false, error: protocolError(found.errorCode) }
  const { fetched } = await readUntilDamage(found, wanted)
  return fetched ?? lookCloser()
}

const failed = (error: unknown): Fetched => ({ ok: false, error })

/** The fetch parameters for these limits. */
function termsOf({ waitMs, bytesPerPartition, rack = '' }: Omit<FetchLimits, 'roomPerPartition'>) {
  return { waitMs, maxBytes: Math.max(maxBytes, bytesPerPartition), partitionBytes: bytesPerPartition, rack }
}

function committedOf(found: FetchedPartition, { batches, next }: Omit<DecodedBatches, 'stuck'>, from: number): Fetched {
  const { abortedTransactions, highWatermark, stableOffset, preferredReplica } = found
  const records = committedBatches(batches, abortedTransactions).flatMap(batch => batch.records)
  return { ok: true, records, next: Math.max(from, next ?? 0), highWatermark, stableOffset, preferredReplica }
}

/**
 * Reads up to a damaged batch, which becomes one record. The next fetch begins after it and brings a new list of aborted
 * transactions, so a transaction whose marker was in the damaged batch does not stay open.
 * @param isAlone whether only this partition was requested; its first batch is then not truncated
 * @returns fetched: null if nothing can be said of the first batch yet; damage: its error
 */
async function readUntilDamage(
  found: FetchedPartition,
  wanted: WantedRecords,
  isAlone = false,
): Promise<{ fetched: Fetched | null; damage: unknown }> {
  const { from } = wanted
  let damage: unknown = null
  for (let rest: Buffer | undefined = found.bytes; rest; ) {
    const { stuck, batches, next } = await decodeBatches(rest, found.highWatermark, wanted)
    const isDamaged = stuck && !(stuck.isCutOff && !(isAlone && stuck.rest.length === found.bytes.length))
    const behind = isDamaged ? skipStuck(stuck) : null
    if (stuck && behind && behind.offset > from) {
      batches.push(unreadable(stuck, behind.offset - 1, from))
      return { fetched: committedOf(found, { batches, next: behind.offset }, from), damage }
    }
    if (!stuck || (next ?? 0) > from) return { fetched: committedOf(found, { batches, next }, from), damage }
    damage = stuck.error
    rest = behind?.rest // a broker may start with the damaged batch although a later offset was requested
  }
  return { fetched: null, damage }
}

/**
 * Requests this partition alone, so that the broker answers its first batch whole: the batches that follow a damaged one show
 * where it ends. If none follows, it is the last batch of its segment.
 */
async function lookCloser(fetch: Fetch, position: Position, room: number): Promise<Fetched> {
  const found = await askOne(fetch, position, closeLook)
  const { fetched, damage } = await readUntilDamage(found, { from: position.offset, room }, true)
  return fetched ?? passBy(fetch, position, found, damage, room)
}

/**
 * Finds by binary search the first offset at which the broker's answer differs. After the last batch of a segment, the answer
 * changes at the next segment, whatever the damaged batch states about its own offsets.
 */
async function passBy(
  fetch: Fetch,
  position: Position,
  stuck: FetchedPartition,
  damage: unknown,
  room: number,
): Promise<Fetched> {
  const { highWatermark, stableOffset } = stuck
  let last = position.offset
  let next = Math.max(highWatermark, last + 1)
  let beyond: FetchedPartition | null = null
  while (next - last > 1) {
    const offset = last + Math.floor((next - last) / 2)
    const found = await askOne(fetch, { ...position, offset }, 1, [corruptMessage])
    if (found.errorCode || beginAlike(found.bytes, stuck.bytes)) last = offset
    else {
      next = offset
      beyond = found
    }
  }
  const start = beyond && startOf(beyond.bytes, { least: 0, end: highWatermark })
  const behind = start ?? next
  if (beyond && behind <= position.offset) {
    const { fetched } = await readUntilDamage(beyond, { from: position.offset, room }, true)
    return fetched ?? failed(damage)
  }
  const record = unreadableRecord(position.offset, damage, behind - 1)
  return { ok: true, records: [record], next: behind, highWatermark, stableOffset, preferredReplica: -1 }
}

/** @throws Error as the broker answers, except for expected codes */
async function askOne(
  fetch: Fetch,
  position: Position,
  bytes: number,
  expected: readonly number[] = [],
): Promise<FetchedPartition> {
  const request = { ...termsOf({ waitMs: 0, bytesPerPartition: bytes }), partitions: [position] }
  const [found] = (await fetch(request)).partitions
  if (!found) throw new Error("the broker's answer left out the requested partition")
  if (found.errorCode && !expected.includes(found.errorCode)) throw protocolError(found.errorCode)
  return found
}

/** Whether both begin with the same batch: a v2 header contains the batch's checksum. */
function beginAlike(some: Buffer, others: Buffer): boolean {
  return some.length > 0 && some.subarray(0, headerBytes).equals(others.subarray(0, headerBytes))
}

/** Key of an abort marker: version 0, type 0. */
const abortMarker = Buffer.from([0, 0, 0, 0])

/**
 * Removes markers and the batches of aborted transactions, with the algorithm of the Java client (CompletedFetch). A batch is
 * skipped if its producer has an aborted transaction that begins at or before the batch and whose marker has not come yet.
 * One producer may have several, and transactions interleave. Java compares the batch's last offset, which is equivalent: a
 * transaction begins with a batch. Every batch here has a record.
 */
export function committedBatches(
  batches: readonly BatchRecords[],
  aborted: readonly AbortedTransaction[],
): BatchRecords[] {
  const upcoming = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset)
  const open = new Set<bigint>()
  let next = 0
  return batches.filter(({ records, isControl, producerId, inTransaction }) => {
    const first = records[0]!
    while (next < upcoming.length && upcoming[next]!.firstOffset <= first.offset) open.add(upcoming[next++]!.producerId)
    if (isControl && first.key?.equals(abortMarker)) open.delete(producerId)
    return !isControl && !(inTransaction && open.has(producerId))
  })
}
