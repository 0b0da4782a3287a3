import type { BusRecord } from '../port.ts'
import type { Batch } from './driver.ts'

/**
 * Reads offsets a second time, and then goes on where the reading had come to. What lies between them was read before
 * and is passed over.
 */
export class Refetch {
  readonly #wanted = new Set<number>()
  /** The first offset that has never been read. */
  #onwardFrom = 0

  /** Tells whether offsets are wanted that have not come yet. */
  get active(): boolean {
    return this.#wanted.size > 0
  }

  /**
   * @param position where the reading stands
   * @returns where it goes on: at the first offset that is wanted, unless that is still to come
   */
  want(offsets: readonly number[], position: number): number {
    this.#onwardFrom = Math.max(this.#onwardFrom, position)
    for (const offset of offsets) this.#wanted.add(offset)
    return offsets.reduce((first, offset) => Math.min(first, offset), position)
  }

  /** Tells which records of a batch were wanted again, and which are read for the first time. */
  sort({ fetchedOffset, records }: Batch): { recalled: readonly BusRecord[]; onward: readonly BusRecord[] } {
    if (fetchedOffset >= this.#onwardFrom) return { recalled: [], onward: records }
    const recalled = records.flatMap(record => this.#wantedOf(record))
    return { recalled, onward: records.filter(({ offset }) => offset >= this.#onwardFrom) }
  }

  /** The record if it is wanted; where it stands for a batch, each record of it that is. */
  #wantedOf(record: BusRecord): BusRecord[] {
    const { offset: first, unreadable } = record
    if (!unreadable) return this.#wanted.delete(first) ? [record] : []
    const offsets = [...this.#wanted].filter(offset => offset >= first && offset <= unreadable.lastOffset)
    for (const offset of offsets) this.#wanted.delete(offset)
    return offsets.map(offset => ({ ...record, offset, unreadable: { ...unreadable, lastOffset: offset } }))
  }

  /** Nothing before this offset comes any more. @returns the offsets that were wanted there: their records are gone */
  passed(before: number): ReadonlySet<number> {
    const gone = new Set([...this.#wanted].filter(offset => offset < before))
    for (const offset of gone) this.#wanted.delete(offset)
    return gone
  }

  /** Tells how far the log has been read, wherever the reading stands now. */
  reached(position: number): number {
    return Math.max(position, this.#onwardFrom)
  }

  /** Tells where the reading goes on behind `position`. */
  next(position: number): number {
    return this.active ? position : Math.max(position, this.#onwardFrom)
  }
}
