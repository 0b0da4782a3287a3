/** Numbers are compared faster than bigints; what is beyond them is compared as text. */
type Key = number | string

/**
 * The last ids seen on a partition, for each account: a command that repeats one is not sent again. At least the last
 * `size` ids are known, at most twice as many: two generations need no bookkeeping for each id.
 */
export class RecentIds {
  readonly #size: number
  #young = new Map<string, Set<Key>>()
  #old = new Map<string, Set<Key>>()
  #count = 0

  /** @param size how many ids are remembered; 0: none */
  constructor(size: number) {
    this.#size = size
  }

  /** Remembers the id. @returns whether it was known. */
  add(account: string, id: bigint): boolean {
    if (this.#size === 0) return false
    const key = id <= Number.MAX_SAFE_INTEGER ? Number(id) : id.toString()
    const young = this.#young.get(account) ?? new Set()
    const known = young.has(key) || (this.#old.get(account)?.has(key) ?? false)
    if (known) return true
    this.#young.set(account, young.add(key))
    if (++this.#count >= this.#size) this.#age()
    return false
  }

  #age(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#count = 0
  }
}
