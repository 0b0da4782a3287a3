import type { Row } from './rows.ts'

/** A priority queue of rows: a binary heap in a typed array. */
export class RowHeap {
  readonly #isBefore: (one: Row, other: Row) => boolean
  #rows = new Uint32Array(16)
  size = 0

  constructor(isBefore: (one: Row, other: Row) => boolean) {
    this.#isBefore = isBefore
  }

  /** The first row; undefined if there is none. */
  get first(): Row | undefined {
    return this.size > 0 ? this.#rows[0] : undefined
  }

  push(row: Row): void {
    // a transfer gives the memory back at once, not when garbage is collected
    if (this.size === this.#rows.length) this.#rows = new Uint32Array(this.#rows.buffer.transfer(8 * this.size))
    this.#rows[this.size] = row
    this.#rise(this.size++)
  }

  pop(): Row | undefined {
    const { first } = this
    if (first === undefined) return undefined
    this.#rows[0] = this.#rows[--this.size]!
    this.#sink(0)
    return first
  }

  /** Removes the rows that are not kept. */
  keep(isKept: (row: Row) => boolean): void {
    const kept = this.#rows.subarray(0, this.size).filter(isKept)
    this.size = kept.length
    this.#rows.set(kept)
    for (let at = this.size >> 1; at >= 0; at--) this.#sink(at)
  }

  *[Symbol.iterator](): Iterator<Row> {
    for (let at = 0; at < this.size; at++) yield this.#rows[at]!
  }

  #rise(from: number): void {
    const rows = this.#rows
    const row = rows[from]!
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(row, rows[parent]!)) break
      rows[at] = rows[parent]!
      at = parent
    }
    rows[at] = row
  }

  #sink(from: number): void {
    const rows = this.#rows
    const row = rows[from]!
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= this.size) break
      if (child + 1 < this.size && this.#isBefore(rows[child + 1]!, rows[child]!)) child++
      if (!this.#isBefore(rows[child]!, row)) break
      rows[at] = rows[child]!
      at = child
    }
    rows[at] = row
  }
}
