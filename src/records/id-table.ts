import { randomInt } from 'node:crypto'

export interface IdTableOptions {
  /** 32-bit words of a slot, a power of two: an id takes the first two, the others are its user's. */
  width: number
  /** Slots at first, a power of two. */
  slots: number
  /** The part of the slots that is used at most. */
  fullAt: number
}

/** The factors are drawn for each process, so that nobody can choose ids that all meet at one slot. */
const factors = [oddNumber(), oddNumber()] as const

/** An id is taken apart here, without the bigints that shifts would make. */
const whole = new BigInt64Array(1)
const halves = new Uint32Array(whole.buffer)

/** A hash table of ids, 1 to 2^63-1, in typed arrays: a Map or Set makes an object of each id, and takes ten times as much. */
export class IdTable {
  size = 0
  /** The slots one after the other; another array when the table has grown. No id is 0, so a slot with 0 is free. */
  words: Uint32Array
  readonly #width: number
  readonly #fullAt: number

  constructor({ width, slots, fullAt }: IdTableOptions) {
    this.words = new Uint32Array(width * slots)
    this.#width = width
    this.#fullAt = fullAt
  }

  has(id: bigint): boolean {
    return !this.#isFree(this.find(id))
  }

  /** @returns the first word of the id's slot, or of the free one where it belongs */
  find(id: bigint): number {
    whole[0] = id
    return this.#find(halves[0]!, halves[1]!)
  }

  /** Puts the id in, if it is new. @returns the first word of its slot */
  add(id: bigint): number {
    const at = this.find(id)
    if (!this.#isFree(at)) return at
    this.words[at] = halves[0]!
    this.words[at + 1] = halves[1]!
    this.size++
    if (this.size * this.#width <= this.#fullAt * this.words.length) return at
    this.#grow()
    return this.find(id)
  }

  #isFree(at: number): boolean {
    return this.words[at] === 0 && this.words[at + 1] === 0
  }

  #find(low: number, high: number): number {
    const { words } = this
    const width = this.#width
    const end = words.length - 1
    let hash = Math.imul(low, factors[0]) + Math.imul(high, factors[1])
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) // the finalizer of murmur3: ids are often consecutive
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    let at = Math.imul(hash ^ (hash >>> 16), width) & end
    while (words[at] !== low || words[at + 1] !== high) {
      if (words[at] === 0 && words[at + 1] === 0) break
      at = (at + width) & end
    }
    return at
  }

  #grow(): void {
    const { words } = this
    const width = this.#width
    this.words = new Uint32Array(2 * words.length)
    for (let at = 0; at < words.length; at += width) {
      const [low, high] = [words[at]!, words[at + 1]!]
      if (low === 0 && high === 0) continue
      const place = this.#find(low, high)
      for (let word = 0; word < width; word++) this.words[place + word] = words[at + word]!
    }
  }
}

function oddNumber(): number {
  return 2 * randomInt(2 ** 31) + 1
}
