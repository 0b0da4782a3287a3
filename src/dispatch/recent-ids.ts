/** Numbers are compared faster than bigints; what is beyond them is compared as text. */
type Key = number | string

/** The last ids seen on a partition, for each account: a command that repeats one is not sent again. */
export class RecentIds {
  readonly #seen = new Map<string, Set<Key>>()
  readonly #order: { ids: Set<Key>; key: Key }[] = []
  readonly #size: number
  #next = 0

  /** @param size how many ids are remembered; 0: none */
  constructor(size: number) {
    this.#size = size
  }

  /** Remembers the id. @returns whether it was known. */
  add(account: string, id: bigint): boolean {
    if (this.#size === 0) return false
    const ids = this.#idsOf(account)
    const key = id <= Number.MAX_SAFE_INTEGER ? Number(id) : id.toString()
    if (ids.has(key)) return true
    ids.add(key)
    const oldest = this.#order[this.#next]
    oldest?.ids.delete(oldest.key)
    this.#order[this.#next] = { ids, key }
    this.#next = (this.#next + 1) % this.#size
    return false
  }

  #idsOf(account: string): Set<Key> {
    const ids = this.#seen.get(account) ?? new Set()
    this.#seen.set(account, ids)
    return ids
  }
}
