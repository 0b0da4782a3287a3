import type { Backlog, BusRecord } from '../port.ts'
import { headerPairs } from '../record-headers.ts'
import { OffsetRing, type Window } from './window.ts'

export interface SharedBacklogOptions {
  /** Limit of all sessions of the process together. */
  inAll: Backlog
  atMost: Backlog
}

/**
 * A session may use this fraction of the memory that the others leave. Busy sessions thus converge to equal shares, and some
 * memory stays free for the next.
 */
const partOfRest = 3 / 4

/**
 * Memory for the unfinished records of a process's sessions. Half of it is shared on demand. The other half is divided into
 * equal guaranteed parts, so that each session can continue however much the others hold.
 */
export class SharedBacklog {
  readonly #options: SharedBacklogOptions
  readonly #held: Backlog = { records: 0, bytes: 0 }
  #sharers = 0

  constructor(options: SharedBacklogOptions) {
    this.#options = options
  }

  /** Adds a session, until its share's `end`. */
  share(): BacklogShare {
    this.#sharers++
    return new BacklogShare(this)
  }

  least(unit: keyof Backlog): number {
    const { inAll, atMost } = this.#options
    return Math.min(atMost[unit], Math.max(1, inAll[unit] / 2 / Math.max(1, this.#sharers)))
  }

  /** Current limit of a session that holds `own`. */
  most(unit: keyof Backlog, own: number): number {
    const { inAll, atMost } = this.#options
    const rest = inAll[unit] / 2 - (this.#held[unit] - own)
    return Math.min(atMost[unit], Math.max(this.least(unit), partOfRest * rest))
  }

  hold(records: number, bytes: number): void {
    this.#held.records += records
    this.#held.bytes += bytes
  }

  leave(): void {
    this.#sharers--
  }
}

export class BacklogShare {
  readonly #all: SharedBacklog
  #records = 0
  #bytes = 0
  #ended = false

  constructor(all: SharedBacklog) {
    this.#all = all
  }

  /** Guaranteed amount, however much the others hold. */
  get least(): Backlog {
    return { records: this.#all.least('records'), bytes: this.#all.least('bytes') }
  }

  /** Current limit. */
  get most(): Backlog {
    return { records: this.#all.most('records', this.#records), bytes: this.#all.most('bytes', this.#bytes) }
  }

  /** Whether the limit is reached. */
  get isOver(): boolean {
    return this.#used >= 1
  }

  /** Whether at most half of the limit is in use, so that a paused session may resume. */
  get isHalfEmpty(): boolean {
    return this.#used <= 1 / 2
  }

  /** Used fraction of the current limit. */
  get #used(): number {
    const { records, bytes } = this.most
    return Math.max(this.#records / records, this.#bytes / bytes)
  }

  hold(bytes: number): void {
    this.#add(1, bytes)
  }

  /** Corrects the size of a record that is held. */
  resize(by: number): void {
    this.#add(0, by)
  }

  letGo(bytes: number): void {
    this.#add(-1, -bytes)
  }

  #add(records: number, bytes: number): void {
    if (this.#ended) return
    this.#records += records
    this.#bytes += bytes
    this.#all.hold(records, bytes)
  }

  /** Ends the session's share and frees what it holds. */
  end(): void {
    if (this.#ended) return
    this.#add(-this.#records, -this.#bytes)
    this.#ended = true
    this.#all.leave()
  }
}

/** Memory of a record's objects, and of each header's. */
const structureBytes = 200

/**
 * Until the decoded size is reported, a record counts with this multiple of its content. The worst case is a one-byte control
 * character: six characters of JSON, at two bytes each if the text contains a character beyond U+00FF.
 */
const mostMadeOf = 12

/** Memory of a record and its decoded form. */
function sizeOf(record: BusRecord, madeBytes: number): number {
  let bytes = structureBytes + contentBytesOf(record) + madeBytes
  for (const [name, content] of headerPairs(record.headers)) bytes += structureBytes + name.length + content.length
  return bytes
}

/** Bytes of a record's key and value. */
export function contentBytesOf(record: BusRecord): number {
  return record.contentBytes ?? (record.key?.length ?? 0) + (record.value?.length ?? 0)
}

/** The window's unfinished records in memory, counted against the session's share. */
export class UndoneRecords {
  readonly #share: BacklogShare
  /** Bytes of each record; 0 if it is not in memory. */
  readonly #sizes: OffsetRing

  constructor(share: BacklogShare, window: Window) {
    this.#share = share
    this.#sizes = new OffsetRing(window, Uint32Array)
  }

  has(offset: number): boolean {
    return this.#sizes.get(offset) !== 0
  }

  hold(record: BusRecord): void {
    const size = sizeOf(record, mostMadeOf * contentBytesOf(record))
    this.#sizes.set(record.offset, size)
    this.#share.hold(size)
  }

  /**
   * Counts the actual decoded size of a record. @returns bytes that the record now counts for; 0 if it is not held any more
   */
  made(record: BusRecord, bytes: number): number {
    const before = this.#sizes.get(record.offset)
    if (before === 0) return 0
    const size = sizeOf(record, bytes)
    this.#sizes.set(record.offset, size)
    this.#share.resize(size - before)
    return size
  }

  letGo(offset: number): void {
    const size = this.#sizes.get(offset)
    if (size === 0) return
    this.#sizes.set(offset, 0)
    this.#share.letGo(size)
  }
}
