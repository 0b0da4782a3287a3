import { randomInt } from 'node:crypto'

const firstSlots = 64
/** Slots that are used at most. */
const fullAt = 3 / 4

/** Drawn for each process, so that nobody can choose ids that all meet at one slot. */
const factors = [oddNumber(), oddNumber()] as const

/** The halves of an id, without the bigints that shifts would make. */
const whole = new BigInt64Array(1)
const halves = new Uint32Array(whole.buffer)

/**
 * Ids, each with an offset, 16 bytes a slot. A Map makes an object of each id beyond 2^31, which the garbage collector moves
 * twice before it stays, and grows: 0.5 µs more for each command of a worker at full speed.
 */
export class IdOffsets {
  size = 0
  /** Of a slot: both halves of the id, and as a number of twice their width the offset. Halves of 0 are free. */
  #words = new Uint32Array(4 * firstSlots)
  #offsets = new Float64Array(this.#words.buffer)

  /** @param id 1 to 2^63-1 */
  get(id: bigint): number | undefined {
    whole[0] = id
    const slot = this.#find(halves[0]!, halves[1]!)
    return this.#isFree(slot) ? undefined : this.#offsets[2 * slot + 1]
  }

  /** @returns whether the id is new */
  set(id: bigint, offset: number): boolean {
    whole[0] = id
    return this.#put(halves[0]!, halves[1]!, offset)
  }

  #put(low: number, high: number, offset: number): boolean {
    const slot = this.#find(low, high)
    const isNew = this.#isFree(slot)
    this.#words[4 * slot] = low
    this.#words[4 * slot + 1] = high
    this.#offsets[2 * slot + 1] = offset
    if (isNew && ++this.size * 4 > fullAt * this.#words.length) this.#grow()
    return isNew
  }

  /** The slot of the id, or the free one where it belongs. */
  #find(low: number, high: number): number {
    const words = this.#words
    const mask = words.length / 4 - 1
    let hash = Math.imul(low, factors[0]) + Math.imul(high, factors[1])
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) // the finalizer of murmur3: ids are often consecutive
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    let slot = (hash ^ (hash >>> 16)) & mask
    while ((words[4 * slot] !== low || words[4 * slot + 1] !== high) && !this.#isFree(slot)) slot = (slot + 1) & mask
    return slot
  }

  #isFree(slot: number): boolean {
    return this.#words[4 * slot] === 0 && this.#words[4 * slot + 1] === 0
  }

  #grow(): void {
    const words = this.#words
    const offsets = this.#offsets
    this.#words = new Uint32Array(2 * words.length)
    this.#offsets = new Float64Array(this.#words.buffer)
    this.size = 0
    for (let slot = 0; slot < words.length / 4; slot++) {
      const [low, high] = [words[4 * slot]!, words[4 * slot + 1]!]
      if (low !== 0 || high !== 0) this.#put(low, high, offsets[2 * slot + 1]!)
    }
  }
}

function oddNumber(): number {
  return 2 * randomInt(2 ** 31) + 1
}
