import { RowHeap } from './row-heap.ts'
import type { Row, Rows } from './rows.ts'

/**
 * Due rows by their offsets on the table: those that follow the last one that was read, and the others. Many that are due are
 * thus read in one pass over the table, whatever the order of their times.
 */
export class DueRows {
  readonly #rows: Rows
  #ahead: RowHeap
  #behind: RowHeap
  #readTo = Number.NEGATIVE_INFINITY
  /** Number of its copies that are not finished. */
  released = 0

  constructor(rows: Rows) {
    const byOffset = () => new RowHeap((one, other) => rows.offset(one) < rows.offset(other))
    this.#rows = rows
    this.#ahead = byOffset()
    this.#behind = byOffset()
  }

  get size(): number {
    return this.#ahead.size + this.#behind.size
  }

  get queues(): RowHeap[] {
    return [this.#ahead, this.#behind]
  }

  put(row: Row): void {
    if (this.#rows.offset(row) > this.#readTo) this.#ahead.push(row)
    else this.#behind.push(row)
  }

  /** Takes the next row; there must be one. */
  pop(): Row {
    if (this.#ahead.size === 0) [this.#ahead, this.#behind] = [this.#behind, this.#ahead]
    const row = this.#ahead.pop()!
    this.#readTo = this.#rows.offset(row)
    return row
  }
}
