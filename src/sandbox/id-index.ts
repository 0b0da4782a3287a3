/** A caller's identifier: a number up to 2^53, a bigint above. */
export type Id = number | bigint

/** Numbers identifiers 0, 1, 2, … in the order in which they are first seen. */
export interface IdIndex {
  size(): number
  /** The number of an identifier, or undefined when it was not added. */
  find(id: Id): number | undefined
  /** The number of an identifier, a new one when it was not added before. */
  add(id: Id): number
}

/**
 * Open addressing over typed arrays: a Map keeps every identifier as an object of its own, which at a million of them
 * takes five times as long and keeps the garbage collector busy. Identifiers beyond 2^53 are rare and lie in a Map.
 */
export function createIdIndex(): IdIndex {
  const large = new Map<bigint, number>()
  /** Identifier by number; 0 where a bigint has the number. */
  let ids = new Float64Array(1024)
  /** Number + 1 by hash; 0 is free. Twice as many slots as identifiers at least. */
  let slots = new Int32Array(2 * ids.length)
  let size = 0

  /** The slot that holds the identifier, or the free one where it belongs. */
  function slotOf(id: number): number {
    let slot = hash(id) & (slots.length - 1)
    while (slots[slot] !== 0 && ids[slots[slot]! - 1] !== id) slot = (slot + 1) & (slots.length - 1)
    return slot
  }

  function grow(): void {
    const wider = new Float64Array(2 * ids.length)
    wider.set(ids)
    ids = wider
    slots = new Int32Array(2 * ids.length)
    for (let number = 0; number < size; number++) if (ids[number] !== 0) slots[slotOf(ids[number]!)] = number + 1
  }

  function find(id: Id): number | undefined {
    if (typeof id === 'bigint') return large.get(id)
    const found = slots[slotOf(id)]!
    return found === 0 ? undefined : found - 1
  }

  return {
    size: () => size,
    find,
    add(id) {
      const found = find(id)
      if (found !== undefined) return found
      if (size === ids.length) grow()
      if (typeof id === 'bigint') large.set(id, size)
      else {
        ids[size] = id
        slots[slotOf(id)] = size + 1
      }
      return size++
    },
  }
}

function hash(id: number): number {
  const h = Math.imul(id | 0, 0x9e3779b1) ^ Math.imul((id / 0x1_0000_0000) | 0, 0x85ebca6b)
  return h ^ (h >>> 15)
}
