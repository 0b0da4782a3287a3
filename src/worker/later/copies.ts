import type { BusRecord, Session } from '../../bus/port.ts'
import { type CopiedFrom, copiedFrom, type LaterFacts, type LaterKey, originalOf } from '../../records/later.ts'
import type { Row } from './rows.ts'
import type { WaitingRows } from './waiting-rows.ts'

/** A released copy on the command's partition. */
export interface Copy extends CopiedFrom {
  row: Row
}

/** The copies of one partition that were delivered and are not finished. */
export class Copies {
  readonly #session: Session
  readonly #rows: WaitingRows
  /** By offset. */
  readonly #copies = new Map<number, Copy>()
  /** Rows whose copy was delivered. */
  readonly #found = new Set<Row>()
  /** Rows that an earlier session released, and whose copy has not been delivered. */
  readonly #missing: Set<Row>
  /** Those of them of which a finished copy was delivered. */
  readonly #past = new Set<Row>()

  constructor(session: Session, rows: WaitingRows) {
    this.#session = session
    this.#rows = rows
    this.#missing = new Set(rows.releasedRows)
  }

  get isEmpty(): boolean {
    return this.#copies.size === 0
  }

  at(offset: number): Copy | undefined {
    return this.#copies.get(offset)
  }

  /** The record that a copy was made of; null if the record is no copy. */
  originalOf(record: BusRecord): BusRecord | null {
    const copy = this.#copies.get(record.offset)
    return copy ? originalOf(copy.key, copy.facts, record) : null
  }

  /**
   * Looks whether a delivered record is a copy. Anybody can write its header, but not before the copy itself: the table has its
   * name. @returns the copy if it is new
   */
  take(record: BusRecord, isPast: boolean): Copy | null {
    if (this.#rows.released === 0 || this.#copies.has(record.offset)) return null
    const copied = this.#keyOf(record)
    const row = copied ? this.#rows.find(copied.key) : -1
    if (!copied || row < 0 || !this.#rows.isReleasedAs(row, copied.facts.copy) || this.#found.has(row)) return null
    if (isPast) {
      // where the progress was reset, nobody knows what is finished
      const { forgotten } = this.#session
      if (this.#missing.has(row) && record.offset >= (forgotten?.until ?? 0)) this.#past.add(row)
      return null
    }
    const copy = { ...copied, row }
    this.#copies.set(record.offset, copy)
    this.#found.add(row)
    this.#missing.delete(row)
    return copy
  }

  /** The outcome of the copy is known. */
  remove(offset: number, { row }: Copy): void {
    this.#copies.delete(offset)
    this.#found.delete(row)
  }

  /**
   * The command of which the record says to be a copy, if it is none that waits for its outcome. Only while it is not known
   * which records were answered.
   * @param id of the record, if known: with another one it is a command of its own
   */
  formerOf(record: BusRecord, id?: bigint): { key: LaterKey; facts: LaterFacts; isMoved: boolean } | null {
    if (record.offset >= this.#session.uncheckedUntil || this.#copies.has(record.offset)) return null
    const copied = this.#keyOf(record)
    if (!copied || (id !== undefined && id !== copied.key.id)) return null
    const isMoved = this.#rows.find(copied.key) >= 0 || this.#rows.hasEnded(copied.key)
    return { ...copied, isMoved }
  }

  /**
   * Offset of the command of which the record says to be a copy, although the table knows nothing of it: it may have been deleted.
   * Null for a copy that it knows, and any other record. Of the same message, so that the result of one can be that of both.
   */
  strayOf(record: BusRecord, id: bigint): number | null {
    const copied = this.#copies.has(record.offset) ? null : this.#keyOf(record)
    return copied?.key.id === id ? copied.key.offset : null
  }

  /** Copies at offsets that the log lost. */
  within(first: number, last: number): [number, Copy][] {
    return [...this.#copies].filter(([offset]) => offset >= first && offset <= last)
  }

  /** Whether there are rows whose copy is not on the log. */
  get areMissing(): boolean {
    return this.#missing.size > 0 && this.#session.isCaughtUp
  }

  /** Rows whose copy is not on the log, once all of it was delivered; each with whether a finished one was. */
  takeMissing(most: number): { row: Row; isPast: boolean }[] {
    const missing: { row: Row; isPast: boolean }[] = []
    if (!this.areMissing) return missing
    for (const row of this.#missing) {
      if (missing.length === most) break
      this.#missing.delete(row)
      missing.push({ row, isPast: this.#past.has(row) })
    }
    return missing
  }

  #keyOf(record: BusRecord): CopiedFrom | null {
    const copied = copiedFrom(record)
    const { topic, partition } = this.#session
    return copied?.key.topic === topic && copied.key.partition === partition ? copied : null
  }
}
