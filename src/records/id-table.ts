import { createHmac, randomBytes, randomInt } from 'node:crypto'

const oddNumber = () => 2 * randomInt(2 ** 31) + 1

/** Random per process, so that nobody can choose ids that collide. */
const factors = [oddNumber(), oddNumber()] as const

/** Splits an id into words without the bigints that shifts would allocate. */
const whole = new BigInt64Array(1)
const halves = new Uint32Array(whole.buffer)
const leastSlots = 64

/**
 * Hash table of ids, or other numbers of 64 bits except 0, in a typed array: 16 to 32 bytes per id, or 22 to 43 with a number. A Map
 * or Set allocates an object for each id beyond 2^31: ten times the memory, and 0.5 µs more per command at full speed.
 */
export class IdTable {
  size = 0
  /** 32-bit words per slot: two for the id, two for its number. */
  readonly #width: 2 | 4
  /** Consecutive slots. A slot whose id is 0 is free. */
  #words: Uint32Array
  /** The same memory in pairs of words; a slot's second pair is its number. */
  #pairs: Float64Array

  constructor(kind: 'ids' | 'with numbers' = 'ids') {
    this.#width = kind === 'ids' ? 2 : 4
    this.#words = new Uint32Array(this.#width * leastSlots)
    this.#pairs = new Float64Array(this.#words.buffer)
  }

  has(id: bigint): boolean {
    return !this.#isFree(this.#slotOf(id))
  }

  get(id: bigint): number | undefined {
    const at = this.#slotOf(id)
    return this.#isFree(at) ? undefined : this.#pairs[at / 2 + 1]
  }

  /** @returns whether the id is new */
  add(id: bigint): boolean {
    const { size } = this
    this.#put(id)
    return this.size > size
  }

  /** @returns whether the id is new */
  set(id: bigint, number: number): boolean {
    const { size } = this
    const at = this.#put(id)
    this.#pairs[at / 2 + 1] = number // `#put` may replace `#pairs`
    return this.size > size
  }

  /** @returns the first word of the id's slot */
  #put(id: bigint): number {
    const at = this.#slotOf(id)
    if (!this.#isFree(at)) return at
    this.#words[at] = halves[0]!
    this.#words[at + 1] = halves[1]!
    this.size++
    if (this.size * this.#width * 4 <= this.#words.length * (this.#width === 2 ? 2 : 3)) return at
    this.#grow()
    return this.#slotOf(id)
  }

  #isFree(at: number): boolean {
    return this.#words[at] === 0 && this.#words[at + 1] === 0
  }

  /** @returns the first word of the id's slot, or of a free one for it */
  #slotOf(id: bigint): number {
    whole[0] = id
    return this.#find(halves[0]!, halves[1]!)
  }

  #find(low: number, high: number): number {
    const words = this.#words
    const width = this.#width
    const end = words.length - 1
    let hash = Math.imul(low, factors[0]) + Math.imul(high, factors[1])
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) // finalizer of murmur3, since ids are often consecutive
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    let at = Math.imul(hash ^ (hash >>> 16), width) & end
    while (words[at] !== low || words[at + 1] !== high) {
      if (words[at] === 0 && words[at + 1] === 0) break
      at = (at + width) & end
    }
    return at
  }

  #grow(): void {
    const before = this.#words
    const width = this.#width
    this.#words = new Uint32Array(2 * before.length)
    this.#pairs = new Float64Array(this.#words.buffer)
    for (let at = 0; at < before.length; at += width) {
      const [low, high] = [before[at]!, before[at + 1]!]
      if (low === 0 && high === 0) continue
      const place = this.#find(low, high)
      for (let word = 0; word < width; word++) this.#words[place + word] = before[at + word]!
    }
  }
}

/** Random per process, so that nobody can choose accounts whose messages collide. */
const secret = randomBytes(32)
const salts = new Map<string, bigint>()
/** Bound of the salts that are kept: foreign records can name any number of accounts. */
const mostSalts = 1_000

/**
 * Names a message, by account and id, as a key of an `IdTable`. However many accounts there are, each message takes the same
 * memory: a table for each account would take a kilobyte. Two messages of different accounts have the same key with a probability of
 * 2^-63.
 */
export const messageKey = (account: string, id: bigint): bigint => id ^ saltOf(account) || 1n

function saltOf(account: string): bigint {
  const known = salts.get(account)
  if (known !== undefined) return known
  if (salts.size >= mostSalts) salts.clear()
  const salt = BigInt.asUintN(63, createHmac('sha256', secret).update(account).digest().readBigUInt64LE())
  salts.set(account, salt)
  return salt
}
