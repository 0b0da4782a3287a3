import type { Row } from './rows.ts'

/** Each shard grows by itself, so that no step takes long however many rows there are. */
export const shards = 16
const leastSlots = 8
/** Greatest used part of a shard's slots. */
const fullAt = 0.75

/** A slot is a row plus one, which no process has enough memory to exceed, and four bits of the row's hash; 0 is a free slot. */
const rowBits = 28
const rowMask = 2 ** rowBits - 1

const slotOf = (row: Row, hash: number): number => ((hash >>> rowBits) << rowBits) | (row + 1)

/** @param slot not a free one */
const rowIn = (slot: number): Row => (slot & rowMask) - 1

/**
 * Finds rows by a hash of theirs: a hash table of row numbers in typed arrays, with linear probing. The bits of a hash in each
 * slot tell most others from the wanted row without a look at them. Of rows with the same hash each makes the next one slower.
 */
export class RowTable {
  readonly #hashOf: (row: Row) => number
  readonly #slots = Array.from({ length: shards }, () => new Int32Array(leastSlots))
  readonly #sizes = new Uint32Array(shards)

  constructor(hashOf: (row: Row) => number) {
    this.#hashOf = hashOf
  }

  get size(): number {
    return this.#sizes.reduce((sum, size) => sum + size, 0)
  }

  /** The first row with this hash that is accepted; -1 if there is none. */
  find(hash: number, accept: (row: Row) => boolean): Row {
    const slots = this.#slots[hash % shards]!
    const [tag, end] = [hash >>> rowBits, slots.length - 1]
    for (let at = (hash >>> 4) & end; slots[at] !== 0; at = (at + 1) & end) {
      const slot = slots[at]!
      if (slot >>> rowBits === tag && accept(rowIn(slot))) return rowIn(slot)
    }
    return -1
  }

  add(row: Row, hash = this.#hashOf(row)): void {
    const shard = hash % shards
    if (this.#sizes[shard]! + 1 > this.#slots[shard]!.length * fullAt) this.#grow(shard)
    put(this.#slots[shard]!, hash, slotOf(row, hash))
    this.#sizes[shard]!++
  }

  remove(row: Row): void {
    const hash = this.#hashOf(row)
    const shard = hash % shards
    const slots = this.#slots[shard]!
    const end = slots.length - 1
    const slot = slotOf(row, hash)
    let at = (hash >>> 4) & end
    while (slots[at] !== slot) {
      if (slots[at] === 0) return
      at = (at + 1) & end
    }
    this.#sizes[shard]!--
    // moves later rows up, so that no gap hides them
    for (let next = (at + 1) & end; slots[next] !== 0; next = (next + 1) & end) {
      const home = (this.#hashOf(rowIn(slots[next]!)) >>> 4) & end
      if (((next - home) & end) < ((next - at) & end)) continue
      slots[at] = slots[next]!
      at = next
    }
    slots[at] = 0
  }

  /** Shows all rows of one shard, which must stay the same meanwhile. */
  each(shard: number, show: (row: Row) => void): void {
    for (const slot of this.#slots[shard]!) if (slot !== 0) show(rowIn(slot))
  }

  #grow(shard: number): void {
    const before = this.#slots[shard]!
    const slots = new Int32Array(2 * before.length)
    for (const slot of before) if (slot !== 0) put(slots, this.#hashOf(rowIn(slot)), slot)
    before.buffer.transfer(0) // gives the memory back at once, not when garbage is collected
    this.#slots[shard] = slots
  }
}

function put(slots: Int32Array, hash: number, slot: number): void {
  const end = slots.length - 1
  let at = (hash >>> 4) & end
  while (slots[at] !== 0) at = (at + 1) & end
  slots[at] = slot
}
