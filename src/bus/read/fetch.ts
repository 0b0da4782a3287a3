import { behindStuck, type DecodedBatches, decodeBatches, startOf, unreadable } from '../batches/batches.ts'
import { type BatchRecords, headerBytes, type Mark, type WantedRecords } from '../batches/record-batch.ts'
import { unreadableRecord } from '../batches/unreadable.ts'
import { protocolError } from '../cluster/errors.ts'
import type { BusRecord, TopicPartition } from '../port.ts'
import type { AbortedTransaction, FetchedPartition, FetchRequest } from './fetch-api.ts'

/** Position says where to read on. */
export interface Position {
  tp: TopicPartition
  offset: number
  /** Whoever reads on from here keeps it from fetch to fetch. */
  mark?: Mark
}

/** Asks the broker that the positions are read from. */
export type Fetch = (request: FetchRequest) => Promise<FetchedPartition[]>

export interface FetchLimits {
  /** How long the broker may wait for a first record. */
  waitMs: number
  bytesPerPartition: number
  /** Bytes of memory that the records of each partition may take, and the last of them beyond that. */
  roomPerPartition: number
  rack?: string
}

export type Fetched =
  | {
      ok: true
      /** A batch that cannot be read is one of them, and then the last. */
      records: BusRecord[]
      /** Where to read on. */
      next: number
      /** The end of the log. */
      highWatermark: number
      /** The end of what can be read while transactions are open. */
      stableOffset: number
      /** The node to read on from instead; -1: none. */
      preferredReplica: number
    }
  | { ok: false; error: unknown }

export type FetchedRecords = Extract<Fetched, { ok: true }>

const maxBytes = 4 * 1024 * 1024
/**
 * Bytes of memory that the records of one answer may take, and the last partition's beyond that: the rest is for the next
 * fetch. Brokers bound only what batches are packed to.
 */
const roomAtOnce = 64 * 1024 * 1024
/**
 * Bytes that are asked for to look at one batch, and the most where that does not tell enough. One that is larger is
 * answered whole all the same, because it comes first.
 */
const closeLook = 2 * 1024 * 1024
const closestLook = 64 * 1024 * 1024
/** The code of a broker whose disk holds no batch where it looked for one. */
const corruptMessage = 2

/** AnsweredPosition is a position, and what the broker said of it. */
interface AnsweredPosition<P extends Position> {
  position: P
  found: FetchedPartition
}

/**
 * The committed records from each position on, and where to go on; no partition may be there twice. The broker says
 * nothing of some when others fill the answer, or the memory.
 */
export async function fetchCommitted<P extends Position>(
  fetch: Fetch,
  positions: readonly P[],
  limits: FetchLimits,
): Promise<Map<P, Fetched>> {
  const partitions = await fetch({ ...termsOf(limits), partitions: positions })
  const answers = positions.flatMap(position => {
    const found = partitions.find(({ topic, partition }) => isAt(position, topic, partition))
    return found ? { position, found } : []
  })
  return committedIn(answers, fetch, limits)
}

/** @param fetch asks for one partition alone, for a closer look */
export async function committedIn<P extends Position>(
  answers: readonly AnsweredPosition<P>[],
  fetch: Fetch,
  { roomPerPartition }: FetchLimits,
): Promise<Map<P, Fetched>> {
  const fetched = new Map<P, Fetched>()
  let room = roomAtOnce
  for (const { position, found } of answers) {
    if (room <= 0) break
    const wanted = { from: position.offset, room: Math.min(room, roomPerPartition), mark: position.mark }
    const before = wanted.room
    fetched.set(position, await read(found, wanted, () => lookCloser(fetch, position, before).catch(failed)))
    room -= before - wanted.room
  }
  return fetched
}

/** @param lookCloser reads where what was answered does not tell what there is */
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

const isAt = ({ tp }: Position, topic: string, partition: number) => tp.partition === partition && tp.topic === topic

/** How to fetch within the limits. */
export function termsOf({ waitMs, bytesPerPartition, rack = '' }: Omit<FetchLimits, 'roomPerPartition'>) {
  return { waitMs, maxBytes: Math.max(maxBytes, bytesPerPartition), partitionBytes: bytesPerPartition, rack }
}

function committedOf(found: FetchedPartition, { batches, next }: Omit<DecodedBatches, 'stuck'>, from: number): Fetched {
  const { abortedTransactions, highWatermark, stableOffset, preferredReplica } = found
  const records = committedBatches(batches, abortedTransactions).flatMap(batch => batch.records)
  return { ok: true, records, next: Math.max(from, next ?? 0), highWatermark, stableOffset, preferredReplica }
}

/**
 * Reads what was answered until a damaged batch, which becomes a record. The next fetch begins behind it, and brings a new
 * list of aborted transactions: none stays open whose end was in that batch.
 * @param isAlone whether nothing but this partition was asked for: then the first batch is not cut off
 * @returns fetched: null where nothing can be said of the first batch before more is known; damage: what is wrong with it
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
    const behind = isDamaged ? behindStuck(stuck) : null
    if (stuck && behind && behind.offset > from) {
      batches.push(unreadable(stuck, behind.offset - 1, from))
      return { fetched: committedOf(found, { batches, next: behind.offset }, from), damage }
    }
    if (!stuck || (next ?? 0) > from) return { fetched: committedOf(found, { batches, next }, from), damage }
    damage = stuck.error
    rest = behind?.rest // brokers can begin with a damaged batch wherever behind it one asks
  }
  return { fetched: null, damage }
}

/**
 * Asks for one partition alone, whose first batch its broker then answers whole, and for more than before: what stands
 * behind a damaged batch tells where that ends. Where nothing stands behind it, it is the last one of its file.
 */
async function lookCloser(fetch: Fetch, position: Position, room: number): Promise<Fetched> {
  for (let bytes = closeLook; ; bytes = Math.min(4 * bytes, closestLook)) {
    const found = await askOne(fetch, position, bytes)
    const { fetched, damage } = await readUntilDamage(found, { from: position.offset, room }, true)
    if (fetched) return fetched
    if (found.bytes.length < bytes || bytes === closestLook) return passBy(fetch, position, found, damage, room)
  }
}

/**
 * Finds the first offset from which on the broker answers something else than it does at the position: with a last batch
 * of a file it does so from the next file on, whatever the batch says about itself.
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

/** @throws Error as the broker answers, unless it is one of the errors that are expected */
async function askOne(
  fetch: Fetch,
  position: Position,
  bytes: number,
  expected: readonly number[] = [],
): Promise<FetchedPartition> {
  const request = { ...termsOf({ waitMs: 0, bytesPerPartition: bytes }), partitions: [position] }
  const [found] = await fetch(request)
  if (!found) throw new Error('the answer of the broker lacks what was requested')
  if (found.errorCode && !expected.includes(found.errorCode)) throw protocolError(found.errorCode)
  return found
}

/** Tells whether they begin with the same batch: a header of the format v2 holds its checksum. */
function beginAlike(some: Buffer, others: Buffer): boolean {
  return some.length > 0 && some.subarray(0, headerBytes).equals(others.subarray(0, headerBytes))
}

/** Version 0, type 0: the key of the control record that ends an aborted transaction. */
const abortMarker = Buffer.from([0, 0, 0, 0])

/**
 * Leaves out markers and the batches of aborted transactions. This is the algorithm of the Java client (CompletedFetch):
 * whoever has an aborted transaction begun at or before a batch, and not yet ended by its marker, is not to be read. The list
 * may hold several of one producer, and transactions interleave. A transaction begins with a batch, so the first record of
 * one that is wanted tells as much as the last that Java asks for; no batch is here without a record.
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
