import { decodeBatches, type StuckBatch, startOf, unreadableBatch } from '../batches/batches.ts'
import { type BatchRecords, headerBytes, type WantedRecords } from '../batches/record-batch.ts'
import { unreadableRecord } from '../batches/unreadable.ts'
import { codeNamed, protocolError } from '../cluster/errors.ts'
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

export interface FetchLimits extends Omit<FetchRequest, 'partitions'> {
  /** Bytes of memory for the records of each partition. The last record may exceed it. */
  roomPerPartition: number
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

/**
 * Bytes of memory for the records of one answer. The last partition may exceed it; the remaining records are fetched again.
 * Brokers bound only compressed sizes.
 */
const roomAtOnce = 64 * 1024 * 1024
/** Bytes to request from a batch on that came incomplete. */
const incompleteBatchBytes = 4 * 1024 * 1024
/** CORRUPT_MESSAGE: the broker finds no batch on its disk. */
const corruptMessage = codeNamed('CORRUPT_MESSAGE')

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
  for (const one of (await fetch({ ...terms, partitions: positions })).partitions) answers.set(one, one)
  const fetched = new Map<P, Fetched>()
  let room = roomAtOnce
  for (const position of positions) {
    const found = answers.get(position.tp)
    if (!found || room <= 0) continue
    const wanted = { from: position.offset, room: Math.min(room, roomPerPartition) }
    const before = wanted.room
    fetched.set(position, await new PartitionAnswer(fetch, position.tp, found).read(wanted))
    room -= before - wanted.room
  }
  return fetched
}

/** Fetches from one position. The answer is read piece by piece, so that nothing is fetched twice for want of memory. */
export async function fetchAnswer(
  fetch: Fetch,
  position: Position,
  terms: Omit<FetchRequest, 'partitions'>,
): Promise<PartitionAnswer> {
  return new PartitionAnswer(fetch, position.tp, await fetchOne(fetch, position, terms))
}

/** A broker's answer for one partition. */
export class PartitionAnswer {
  readonly #fetch: Fetch
  readonly #tp: TopicPartition
  #found!: FetchedPartition
  #committed!: CommittedBatches
  #rest!: Buffer

  /** @param fetch also requests a single partition, to examine a damaged batch */
  constructor(fetch: Fetch, tp: TopicPartition, found: FetchedPartition) {
    this.#fetch = fetch
    this.#tp = tp
    this.#begin(found)
  }

  #begin(found: FetchedPartition): void {
    this.#found = found
    this.#committed = committedBatches(found.abortedTransactions)
    this.#rest = found.bytes
  }

  /** Whether records are left for which there was no room. */
  get hasMore(): boolean {
    return this.#rest.length > 0
  }

  /** The records from where the last piece ended, as far as there is room. */
  read(wanted: WantedRecords): Promise<Fetched> {
    return this.#read(wanted, false).catch(failed)
  }

  /**
   * Reads up to a damaged batch, which becomes one record. The next fetch begins after it and brings a new list of aborted
   * transactions, so a transaction whose marker was in the damaged batch does not stay open.
   * @param isAlone whether only this partition was requested; its first batch is then not truncated
   */
  async #read(wanted: WantedRecords, isAlone: boolean): Promise<Fetched> {
    const { errorCode, highWatermark } = this.#found
    if (errorCode) return failed(protocolError(errorCode))
    const { batches, next, stuck, rest } = await decodeBatches(this.#rest, highWatermark, wanted)
    this.#rest = stuck ? noBytes : rest
    const offset = Math.max(wanted.from, next)
    const isRead = offset > wanted.from
    if (!stuck || (isRead && stuck.isCutOff)) return this.#fetched(batches, offset)
    const position = { tp: this.#tp, offset }
    if (stuck.isCutOff && !isAlone)
      return this.#readOther(await askOne(this.#fetch, position, incompleteBatchBytes), wanted)
    const known = unreadableBatch(stuck, offset, highWatermark)
    if (known) return this.#fetched([...batches, known], known.records[0]!.unreadable!.lastOffset + 1)
    const { start, beyond } = await findBehind(this.#fetch, position, stuck, highWatermark)
    if (start > offset) {
      const lost = { ...nothingKnown, records: [unreadableRecord(offset, stuck.error, start - 1)] }
      return this.#fetched([...batches, lost], start)
    }
    // the broker began with the damaged batch although the next one holds the offset
    return isRead || !beyond ? this.#fetched(batches, offset) : this.#readOther(beyond, wanted)
  }

  #readOther(found: FetchedPartition, wanted: WantedRecords): Promise<Fetched> {
    this.#begin(found)
    return this.#read(wanted, true)
  }

  #fetched(batches: readonly BatchRecords[], next: number): Fetched {
    const { highWatermark, stableOffset, preferredReplica } = this.#found
    const records = this.#committed(batches).flatMap(batch => batch.records)
    return { ok: true, records, next, highWatermark, stableOffset, preferredReplica }
  }
}

const noBytes = Buffer.alloc(0)

const nothingKnown = { isControl: false, producerId: -1n, inTransaction: false }

const failed = (error: unknown): Fetched => ({ ok: false, error })

/**
 * Finds by binary search the first offset at which the broker's answer differs: the answer changes behind the damaged batch,
 * at an entry of the broker's index, or at the next segment, whatever the batch states about its own offsets.
 * @returns start: where to continue; beyond: the answer there, null at the end of the log
 */
async function findBehind(
  fetch: Fetch,
  { tp, offset }: Position,
  stuck: StuckBatch,
  highWatermark: number,
): Promise<{ start: number; beyond: FetchedPartition | null }> {
  let last = offset
  let next = Math.max(highWatermark, last + 1)
  let beyond: FetchedPartition | null = null
  while (next - last > 1) {
    const middle = last + Math.floor((next - last) / 2)
    const found = await askOne(fetch, { tp, offset: middle }, 1, [corruptMessage])
    if (found.errorCode || beginAlike(found.bytes, stuck.rest)) last = middle
    else {
      next = middle
      beyond = found
    }
  }
  return { start: (beyond && startOf(beyond.bytes, highWatermark)) ?? next, beyond }
}

/** @throws Error as the broker answers, except for expected codes */
async function askOne(
  fetch: Fetch,
  position: Position,
  partitionBytes: number,
  expected: readonly number[] = [],
): Promise<FetchedPartition> {
  const found = await fetchOne(fetch, position, { waitMs: 0, partitionBytes })
  if (found.errorCode && !expected.includes(found.errorCode)) throw protocolError(found.errorCode)
  return found
}

async function fetchOne(
  fetch: Fetch,
  position: Position,
  terms: Omit<FetchRequest, 'partitions'>,
): Promise<FetchedPartition> {
  const [found] = (await fetch({ ...terms, partitions: [position] })).partitions
  if (!found) throw new Error("the broker's answer left out the requested partition")
  return found
}

/** Whether both begin with the same batch: a v2 header contains the batch's checksum. */
function beginAlike(some: Buffer, others: Buffer): boolean {
  return some.length > 0 && some.subarray(0, headerBytes).equals(others.subarray(0, headerBytes))
}

/** Key of an abort marker: version 0, type 0. */
const abortMarker = Buffer.from([0, 0, 0, 0])

type CommittedBatches = (batches: readonly BatchRecords[]) => BatchRecords[]

/**
 * Removes markers and the batches of aborted transactions, with the algorithm of the Java client (CompletedFetch). A batch is
 * skipped if its producer has an aborted transaction that begins at or before the batch and whose marker has not come yet.
 * One producer may have several, and transactions interleave. Java compares the batch's last offset, which is equivalent: a
 * transaction begins with a batch. Every batch here has a record.
 * @returns a function that is given the batches of one answer in their order, some at a time
 */
export function committedBatches(aborted: readonly AbortedTransaction[]): CommittedBatches {
  const upcoming = aborted.toSorted((a, b) => a.firstOffset - b.firstOffset)
  const open = new Set<bigint>()
  let next = 0
  const isCommitted = ({ records, isControl, producerId, inTransaction }: BatchRecords) => {
    const first = records[0]!
    while (next < upcoming.length && upcoming[next]!.firstOffset <= first.offset) open.add(upcoming[next++]!.producerId)
    if (isControl && first.key?.equals(abortMarker)) open.delete(producerId)
    return !isControl && !(inTransaction && open.has(producerId))
  }
  return batches => batches.filter(isCommitted)
}
