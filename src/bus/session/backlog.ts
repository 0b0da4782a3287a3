import type { Backlog, BusRecord } from '../port.ts'
import { headerPairs } from '../record-headers.ts'
import { contentBytesOf } from '../record-size.ts'

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
  readonly #inAll: Backlog
  readonly #atMost: Backlog
  readonly #held: Backlog = { records: 0, bytes: 0 }
  #sharers = 0

  /** @param inAll limit of all sessions together @param atMost limit of each */
  constructor(inAll: Backlog, atMost: Backlog) {
    this.#inAll = inAll
    this.#atMost = atMost
  }

  /** Adds a session, until its share's `end`. */
  share(): BacklogShare {
    this.#sharers++
    return new BacklogShare(this)
  }

  least(unit: keyof Backlog): number {
    return Math.min(this.#atMost[unit], Math.max(1, this.#inAll[unit] / 2 / Math.max(1, this.#sharers)))
  }

  /** Current limit of a session that holds `own`. */
  most(unit: keyof Backlog, own: number): number {
    const rest = this.#inAll[unit] / 2 - (this.#held[unit] - own)
    return Math.min(this.#atMost[unit], Math.max(this.least(unit), partOfRest * rest))
  }

  hold(records: number, bytes: number): void {
    this.#held.records += records
    this.#held.bytes += bytes
  }

  leave(): void {
    this.#sharers--
  }
}

/** The unfinished records of one session in memory. */
export class BacklogShare {
  readonly #all: SharedBacklog
  /** Bytes of each record, by its offset. */
  readonly #sizes = new Map<number, number>()
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
    return { records: this.#all.most('records', this.#sizes.size), bytes: this.#all.most('bytes', this.#bytes) }
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
    return Math.max(this.#sizes.size / records, this.#bytes / bytes)
  }

  has(offset: number): boolean {
    return this.#sizes.has(offset)
  }

  hold(record: BusRecord): void {
    if (this.#ended) return
    const size = sizeOf(record, worstDecodedRatio * contentBytesOf(record))
    this.#sizes.set(record.offset, size)
    this.#add(1, size)
  }

  /**
   * Counts the actual decoded size of a record. @returns bytes that the record now counts for; 0 if it is not held any more
   */
  made(record: BusRecord, bytes: number): number {
    const before = this.#sizes.get(record.offset)
    if (before === undefined) return 0
    const size = sizeOf(record, bytes)
    this.#sizes.set(record.offset, size)
    this.#add(0, size - before)
    return size
  }

  letGo(offset: number): void {
    const size = this.#sizes.get(offset)
    if (size === undefined) return
    this.#sizes.delete(offset)
    this.#add(-1, -size)
  }

  #add(records: number, bytes: number): void {
    this.#bytes += bytes
    this.#all.hold(records, bytes)
  }

  /** Ends the session's share and frees what it holds. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#add(-this.#sizes.size, -this.#bytes)
    this.#sizes.clear()
    this.#all.leave()
  }
}

/** Memory of a record's objects, and of each header's. */
const structureBytes = 200

/**
 * Until the decoded size is reported, a record counts with this multiple of its content. The worst case is a one-byte control
 * character: six characters of JSON, at two bytes each if the text contains a character beyond U+00FF.
 */
const worstDecodedRatio = 12

/** Memory of a record and its decoded form. */
function sizeOf(record: BusRecord, madeBytes: number): number {
  let bytes = structureBytes + contentBytesOf(record) + madeBytes
  for (const [name, content] of headerPairs(record.headers)) bytes += structureBytes + name.length + content.length
  return bytes
}
