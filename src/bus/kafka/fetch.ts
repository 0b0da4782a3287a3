import { decodeBatches, startOf, type Unsure } from '../batches/batches.ts'
import { headerBytes, type Mark, type WantedRecords } from '../batches/record-batch.ts'
import { UnreadableBatch, unreadableRecord } from '../batches/unreadable.ts'
import type { BusRecord, TopicPartition } from '../port.ts'
import { protocolError } from '../wire/errors.ts'
import type { FetchAnswer, FetchedPartition, FetchRequest } from '../wire/fetch-api.ts'
import { committedBatches } from './aborted.ts'

/** Position says where to read on. */
export interface Position {
  tp: TopicPartition
  offset: number
  /** Whoever reads on from here keeps it from fetch to fetch. */
  mark?: Mark
}

/** Asks the broker that the positions are read from. */
export type Fetch = (request: FetchRequest) => Promise<FetchAnswer>

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

/** Read is what one answer tells of a partition. */
type Read = Fetched & { unsure?: Unsure | null }

const maxBytes = 4 * 1024 * 1024
/**
 * Bytes of memory that the records of one answer may take, and the last partition's beyond that: the rest is for the next
 * fetch. Brokers bound only what batches are packed to.
 */
const roomAtOnce = 64 * 1024 * 1024
/** Most that is asked for to look at one batch; one that is larger is answered whole all the same, if it comes first. */
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
  const { partitions } = await fetch({ ...termsOf(limits), partitions: positions })
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
    const { unsure, ...read } = await committedOf(found, wanted)
    fetched.set(position, unsure ? await lookCloser(fetch, position, unsure, before).catch(failed) : read)
    room -= before - wanted.room
  }
  return fetched
}

const failed = (error: unknown): Fetched => ({ ok: false, error })

const isAt = ({ tp }: Position, topic: string, partition: number) => tp.partition === partition && tp.topic === topic

/** How to fetch within the limits. */
export function termsOf({ waitMs, bytesPerPartition, rack = '' }: Omit<FetchLimits, 'roomPerPartition'>) {
  return { waitMs, maxBytes: Math.max(maxBytes, bytesPerPartition), partitionBytes: bytesPerPartition, rack }
}

async function committedOf(fetched: FetchedPartition, wanted: WantedRecords, whole = false): Promise<Read> {
  const { errorCode, abortedTransactions, highWatermark, stableOffset, preferredReplica, bytes } = fetched
  if (errorCode) return { ok: false, error: protocolError(errorCode) }
  const { from } = wanted
  const { batches, next, unsure } = await decodeBatches(bytes, highWatermark, wanted, whole)
  const records = committedBatches(batches, abortedTransactions).flatMap(batch => batch.records)
  const answer = { highWatermark, stableOffset, preferredReplica, unsure }
  return { ok: true, records, next: Math.max(from, next ?? 0), ...answer }
}

/**
 * Asks for one partition alone, whose first batch its broker then answers whole, and for more than before: what stands
 * behind a damaged batch tells where that ends. Where nothing stands behind it, it is the last one of its file.
 */
async function lookCloser(fetch: Fetch, position: Position, { bytesNeeded }: Unsure, room: number): Promise<Fetched> {
  for (let needed = bytesNeeded; ; ) {
    const bytes = Math.min(needed, closestLook)
    const found = await askOne(fetch, position, bytes)
    const { unsure: still, ...read } = await committedOf(found, { from: position.offset, room }, true)
    if (!still) return read
    needed = still.bytesNeeded
    if (found.bytes.length < bytes || bytes === closestLook) {
      return passBy(fetch, position, found, still.damage ?? cutOff(), room)
    }
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
    const { unsure: _, ...read } = await committedOf(beyond, { from: position.offset, room }, true)
    return read
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
  const [found] = (await fetch(request)).partitions
  if (!found) throw new Error('the broker did not answer what it was asked for')
  if (found.errorCode && !expected.includes(found.errorCode)) throw protocolError(found.errorCode)
  return found
}

function cutOff(): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', 'its broker does not answer the end of it')
}

/** Tells whether they begin with the same batch: a header of the format v2 holds its checksum. */
function beginAlike(some: Buffer, others: Buffer): boolean {
  return some.length > 0 && some.subarray(0, headerBytes).equals(others.subarray(0, headerBytes))
}
