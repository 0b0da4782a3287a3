import { randomInt } from 'node:crypto'
import type { Row } from './rows.ts'

const factor = 2 * randomInt(2 ** 31) + 1
/** Each shard grows by itself, so that no step takes long however many rows there are. */
export const shards = 16
const leastSlots = 8
/** Greatest used part of a shard's slots. */
const fullAt = 0.75

/** Splits an id into words without the bigints that shifts would allocate. */
const whole = new BigUint64Array(1)
const words = new Uint32Array(whole.buffer)

/** @param number an offset, or a hash */
export function hashOfId(id: bigint, number: number): number {
  whole[0] = id
  return hashOfWords(words[0]!, words[1]!, number)
}

/** @param low lower half of an id */
export function hashOfWords(low: number, high: number, number: number): number {
  let hash = Math.imul(low, factor) ^ Math.imul(high, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16) ^ number, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/**
 * Finds rows by a hash of theirs: a hash table of row numbers in typed arrays, with linear probing. Of rows with the same hash each
 * makes the next one slower.
 */
export class RowTable {
  readonly #hashOf: (row: Row) => number
  /** Rows plus one; 0 is a free slot. */
  readonly #slots = Array.from({ length: shards }, () => new Uint32Array(leastSlots))
  /** A part of each slot's hash: most others are told from the wanted one without a look at their rows. */
  readonly #tags = Array.from({ length: shards }, () => new Uint8Array(leastSlots))
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
    const tags = this.#tags[hash % shards]!
    const [tag, end] = [hash >>> 24, slots.length - 1]
    for (let at = (hash >>> 4) & end; slots[at] !== 0; at = (at + 1) & end) {
      if (tags[at] !== tag) continue
      const row = slots[at]! - 1
      if (accept(row)) return row
    }
    return -1
  }

  add(row: Row, hash = this.#hashOf(row)): void {
    const shard = hash % shards
    if (this.#sizes[shard]! + 1 > this.#slots[shard]!.length * fullAt) this.#grow(shard)
    put(this.#slots[shard]!, this.#tags[shard]!, hash, row)
    this.#sizes[shard]!++
  }

  remove(row: Row): void {
    const hash = this.#hashOf(row)
    const shard = hash % shards
    const [slots, tags] = [this.#slots[shard]!, this.#tags[shard]!]
    const end = slots.length - 1
    let at = (hash >>> 4) & end
    while (slots[at] !== row + 1) {
      if (slots[at] === 0) return
      at = (at + 1) & end
    }
    this.#sizes[shard]!--
    // moves later rows up, so that no gap hides them
    for (let next = (at + 1) & end; slots[next] !== 0; next = (next + 1) & end) {
      const home = (this.#hashOf(slots[next]! - 1) >>> 4) & end
      if (((next - home) & end) < ((next - at) & end)) continue
      slots[at] = slots[next]!
      tags[at] = tags[next]!
      at = next
    }
    slots[at] = 0
  }

  /** Shows all rows of one shard, which must stay the same meanwhile. */
  each(shard: number, show: (row: Row) => void): void {
    for (const slot of this.#slots[shard]!) if (slot !== 0) show(slot - 1)
  }

  #grow(shard: number): void {
    const before = this.#slots[shard]!
    const [slots, tags] = [new Uint32Array(2 * before.length), new Uint8Array(2 * before.length)]
    for (const slot of before) if (slot !== 0) put(slots, tags, this.#hashOf(slot - 1), slot - 1)
    // gives the memory back at once, not when garbage is collected
    for (const { buffer } of [before, this.#tags[shard]!]) buffer.transfer(0)
    this.#slots[shard] = slots
    this.#tags[shard] = tags
  }
}

function put(slots: Uint32Array, tags: Uint8Array, hash: number, row: Row): void {
  const end = slots.length - 1
  let at = (hash >>> 4) & end
  while (slots[at] !== 0) at = (at + 1) & end
  slots[at] = row + 1
  tags[at] = hash >>> 24
}
