import type { BusRecord } from '../port.ts'
import type { Batch } from './driver.ts'

/** A batch as it is read on a detour. */
interface Sorted {
  /** Records that were wanted again. */
  recalled: BusRecord[]
  /** Records that are read for the first time. */
  onward: readonly BusRecord[]
  /** Wanted offsets that are not on the log any more. None of a batch that cannot be read any more: each is a record then. */
  gone: number[]
}

/**
 * Reads offsets a second time, and then goes on where the reading had come to. What lies between them was read before
 * and is passed over.
 */
export class Detour {
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

  sort({ fetchedOffset, records, nextOffset }: Batch): Sorted {
    if (fetchedOffset >= this.#onwardFrom) return { recalled: [], onward: records, gone: [] }
    const recalled = records.flatMap(record => this.#wantedOf(record))
    const gone = [...this.#wanted].filter(offset => offset < nextOffset)
    for (const offset of gone) this.#wanted.delete(offset)
    return { recalled, onward: records.filter(({ offset }) => offset >= this.#onwardFrom), gone }
  }

  /** The record if it is wanted; where it stands for a batch, each record of it that is. */
  #wantedOf(record: BusRecord): BusRecord[] {
    const { offset: first, unreadable } = record
    if (!unreadable) return this.#wanted.delete(first) ? [record] : []
    const offsets = [...this.#wanted].filter(offset => offset >= first && offset <= unreadable.lastOffset)
    for (const offset of offsets) this.#wanted.delete(offset)
    return offsets.map(offset => ({ ...record, offset, unreadable: { ...unreadable, lastOffset: offset } }))
  }

  /** The log begins at `low` now. @returns the wanted offsets that are gone with what is before */
  cut(low: number): number[] {
    const gone = [...this.#wanted].filter(offset => offset < low)
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
