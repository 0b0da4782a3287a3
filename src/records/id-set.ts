/** Ids of messages, 8 bytes each, at most half of the table used. A set of bigints would take ten times as much. */
export class IdSet {
  size = 0
  #slots = new Uint32Array(2 * 1024)

  /** @param id 1 to 2^63-1. @returns whether it is new */
  add(id: bigint): boolean {
    const { low, high } = halves(id)
    const at = this.#find(this.#slots, low, high)
    if (this.#slots[at] !== 0 || this.#slots[at + 1] !== 0) return false
    this.#slots[at] = low
    this.#slots[at + 1] = high
    this.size++
    if (this.size * 4 > this.#slots.length) this.#grow()
    return true
  }

  has(id: bigint): boolean {
    const { low, high } = halves(id)
    const at = this.#find(this.#slots, low, high)
    return this.#slots[at] !== 0 || this.#slots[at + 1] !== 0
  }

  /** The slot of the id, or the free one where it belongs. No id is 0, so 0 is free. */
  #find(slots: Uint32Array, low: number, high: number): number {
    const mask = slots.length / 2 - 1
    let slot = mixed(low, high) & mask
    while (
      (slots[2 * slot] !== low || slots[2 * slot + 1] !== high) &&
      (slots[2 * slot] !== 0 || slots[2 * slot + 1] !== 0)
    ) {
      slot = (slot + 1) & mask
    }
    return 2 * slot
  }

  #grow(): void {
    const old = this.#slots
    const slots = new Uint32Array(old.length * 2)
    for (let i = 0; i < old.length; i += 2) {
      if (old[i] === 0 && old[i + 1] === 0) continue
      const at = this.#find(slots, old[i]!, old[i + 1]!)
      slots[at] = old[i]!
      slots[at + 1] = old[i + 1]!
    }
    this.#slots = slots
  }
}

function halves(id: bigint): { low: number; high: number } {
  if (id <= 0xffff_ffffn) return { low: Number(id), high: 0 }
  return { low: Number(id & 0xffff_ffffn), high: Number(id >> 32n) }
}

/** Ids are often consecutive or multiples of something: spread them (the finalizer of murmur3). */
function mixed(low: number, high: number): number {
  let hash = low ^ Math.imul(high, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return hash ^ (hash >>> 16)
}
