import { IdTable } from './id-table.ts'

/** Ids of messages, 8 bytes each, at most half of the table used. */
export class IdSet {
  readonly #table = new IdTable({ width: 2, slots: 1024, fullAt: 1 / 2 })

  get size(): number {
    return this.#table.size
  }

  /** @param id 1 to 2^63-1. @returns whether it is new */
  add(id: bigint): boolean {
    const before = this.size
    this.#table.add(id)
    return this.size > before
  }

  has(id: bigint): boolean {
    return this.#table.has(id)
  }
}
