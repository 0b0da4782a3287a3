import type { Batch } from '../driver.ts'
import type { BusRecord } from '../port.ts'

/** Reads offsets a second time, then continues where reading stood. Records in between are skipped. */
export class Refetch {
  readonly #wanted = new Set<number>()
  /** The first offset that has never been read. */
  #onwardFrom = 0

  /** Whether requested offsets are still to arrive. */
  get active(): boolean {
    return this.#wanted.size > 0
  }

  /**
   * @param position the offset to read next
   * @returns where to continue: at the first requested offset, or at the position if all come after it
   */
  want(offsets: readonly number[], position: number): number {
    this.#onwardFrom = Math.max(this.#onwardFrom, position)
    for (const offset of offsets) this.#wanted.add(offset)
    return offsets.reduce((first, offset) => Math.min(first, offset), position)
  }

  /** Splits a batch into requested records and records that are read for the first time. */
  sort({ records }: Batch): { recalled: readonly BusRecord[]; onward: readonly BusRecord[] } {
    const recalled = records.flatMap(record => this.#wantedOf(record))
    return { recalled, onward: records.filter(({ offset }) => offset >= this.#onwardFrom) }
  }

  /** The record if it was requested; for an unreadable batch, one record per requested offset. */
  #wantedOf(record: BusRecord): BusRecord[] {
    const { offset: first, unreadable } = record
    if (!unreadable) return this.#wanted.delete(first) ? [record] : []
    const offsets = [...this.#wanted].filter(offset => offset >= first && offset <= unreadable.lastOffset)
    for (const offset of offsets) this.#wanted.delete(offset)
    return offsets.map(offset => ({
      ...record,
      key: null,
      value: null,
      offset,
      unreadable: { ...unreadable, lastOffset: offset },
    }))
  }

  /** Nothing before this offset will arrive any more. @returns the requested offsets before it, whose records are lost */
  passed(before: number): ReadonlySet<number> {
    const gone = new Set([...this.#wanted].filter(offset => offset < before))
    for (const offset of gone) this.#wanted.delete(offset)
    return gone
  }

  /** How far the log has been read, wherever reading stands now. */
  reached(position: number): number {
    return Math.max(position, this.#onwardFrom)
  }

  /** Where reading continues after `position`. */
  next(position: number): number {
    return this.active ? position : Math.max(position, this.#onwardFrom)
  }
}
