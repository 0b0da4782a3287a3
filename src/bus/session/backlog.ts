import type { Backlog, BusRecord } from '../port.ts'
import { headerPairs } from '../record-headers.ts'
import { OffsetRing, type Window } from './window.ts'

export interface SharedBacklogOptions {
  /** All sessions of the process may hold this much together. */
  inAll: Backlog
  /** One session may hold this much at most. */
  atMost: Backlog
}

/** A session may hold this part of what the others leave: those that need much have equal parts, and the next one finds some. */
const partOfRest = 3 / 4

/**
 * SharedBacklog is what the sessions of a process hold undone in memory. Half of it is for whoever needs it; the other
 * half is dealt out in equal shares, so that each session can go on however much the others hold.
 */
export class SharedBacklog {
  readonly #options: SharedBacklogOptions
  readonly #held: Backlog = { records: 0, bytes: 0 }
  #sharers = 0

  constructor(options: SharedBacklogOptions) {
    this.#options = options
  }

  /** Makes the share of a session, which has it until it says `end`. */
  share(): BacklogShare {
    this.#sharers++
    return new BacklogShare(this)
  }

  /** Tells how much is guaranteed to each session. */
  least(unit: keyof Backlog): number {
    const { inAll, atMost } = this.#options
    return Math.min(atMost[unit], Math.max(1, inAll[unit] / 2 / Math.max(1, this.#sharers)))
  }

  /** Tells how much a session may hold now that holds `own` of it. */
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

/** The part of one session. */
export class BacklogShare {
  readonly #all: SharedBacklog
  #records = 0
  #bytes = 0
  #ended = false

  constructor(all: SharedBacklog) {
    this.#all = all
  }

  /** Tells what the session may hold however much the others hold. */
  get least(): Backlog {
    return { records: this.#all.least('records'), bytes: this.#all.least('bytes') }
  }

  /** Tells what the session may hold now. */
  get most(): Backlog {
    return { records: this.#all.most('records', this.#records), bytes: this.#all.most('bytes', this.#bytes) }
  }

  /** Tells whether nothing more is to be taken in. */
  get isOver(): boolean {
    return this.#used >= 1
  }

  /** Tells whether enough is done to go on. */
  get isHalfEmpty(): boolean {
    return this.#used <= 1 / 2
  }

  /** The part of what it may hold now. */
  get #used(): number {
    const { records, bytes } = this.most
    return Math.max(this.#records / records, this.#bytes / bytes)
  }

  hold(bytes: number): void {
    this.#add(1, bytes)
  }

  /** A record that is held takes so many bytes more, or less. */
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

  /** The session is over: others may hold what it held. */
  end(): void {
    if (this.#ended) return
    this.#add(-this.#records, -this.#bytes)
    this.#ended = true
    this.#all.leave()
  }
}

/** The memory that the structures of a record, and of each of its headers, take. */
const structureBytes = 200

/**
 * A record counts as if this many times its content was made of it, until somebody says how much was. A control character of
 * one byte becomes six characters of JSON, with two bytes of memory each where one of the text is beyond U+00FF.
 */
const mostMadeOf = 12

/** The memory of a record, and of what was made of it. */
function sizeOf(record: BusRecord, madeBytes: number): number {
  let bytes = structureBytes + contentBytesOf(record) + madeBytes
  for (const [name, content] of headerPairs(record.headers)) bytes += structureBytes + name.length + content.length
  return bytes
}

/** The bytes of a record's key and value. */
export function contentBytesOf(record: BusRecord): number {
  return record.contentBytes ?? (record.key?.length ?? 0) + (record.value?.length ?? 0)
}

/** UndoneRecords knows which records of a window are in memory and not done yet, and counts them to the session's share. */
export class UndoneRecords {
  readonly #share: BacklogShare
  /** Bytes of each record; 0: it is not in memory. */
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

  /** Counts what was really made of a record. @returns the bytes that it counts for; 0: it is not held any more */
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
