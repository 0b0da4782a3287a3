import { IdTable } from '../../records/id-table.ts'

/**
 * Ids, each with an offset, 16 bytes a slot. A Map makes an object of each id beyond 2^31, which the garbage collector moves
 * twice before it stays, and grows: 0.5 µs more for each command of a worker at full speed.
 */
export class IdOffsets {
  readonly #table = new IdTable({ width: 4, slots: 64, fullAt: 3 / 4 })
  /** The table's words in pairs: the second pair of a slot is its offset. */
  #pairs = new Float64Array(this.#table.words.buffer)

  /** @param id 1 to 2^63-1 */
  get(id: bigint): number | undefined {
    const at = this.#table.find(id)
    const { words } = this.#table
    return words[at] === 0 && words[at + 1] === 0 ? undefined : this.#pairs[at / 2 + 1]
  }

  /** @returns whether the id is new */
  set(id: bigint, offset: number): boolean {
    const { size } = this.#table
    const at = this.#table.add(id)
    const { buffer } = this.#table.words
    if (buffer !== this.#pairs.buffer) this.#pairs = new Float64Array(buffer)
    this.#pairs[at / 2 + 1] = offset
    return this.#table.size > size
  }
}
