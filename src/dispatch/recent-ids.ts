/** The last ids seen on a partition, for each account: a command that repeats one is not sent again. */
export class RecentIds {
  readonly #seen = new Map<string, Set<bigint>>()
  readonly #order: { ids: Set<bigint>; id: bigint }[] = []
  readonly #size: number
  #next = 0

  /** @param size how many ids are remembered; 0: none */
  constructor(size: number) {
    this.#size = size
  }

  /** Remembers the id. @returns whether it was known. */
  add(account: string, id: bigint): boolean {
    if (this.#size === 0) return false
    const ids = this.#seen.get(account) ?? new Set()
    if (ids.has(id)) return true
    this.#seen.set(account, ids.add(id))
    const oldest = this.#order[this.#next]
    oldest?.ids.delete(oldest.id)
    this.#order[this.#next] = { ids, id }
    this.#next = (this.#next + 1) % this.#size
    return false
  }
}
