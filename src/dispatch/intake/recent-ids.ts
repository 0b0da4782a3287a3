import { IdTable } from '../../records/id-table.ts'

/**
 * Generation says where each id of an account stands; one that this session has let through stands before all others.
 */
type Generation = Map<string, IdTable>
const letThrough = -1

/**
 * The last ids seen on a partition, for each account: a command that repeats one is not sent again. At least the last
 * `size` ids are known, at most twice as many: two generations need no bookkeeping for each id.
 */
export class RecentIds {
  readonly #size: number
  #young: Generation = new Map()
  #old: Generation = new Map()
  #count = 0

  /** @param size how many ids are remembered; 0: none */
  constructor(size: number) {
    this.#size = size
  }

  /** Remembers the id of a record that may be sent. @returns whether a record before it had the id. */
  add(account: string, id: bigint, offset: number): boolean {
    return this.#note(account, id, offset, letThrough)
  }

  /**
   * Remembers the id of a record of the past. That says nothing about a record before it: the later one may have been
   * settled as its duplicate while it still waited.
   */
  addPast(account: string, id: bigint, offset: number): void {
    this.#note(account, id, offset, offset)
  }

  #note(account: string, id: bigint, offset: number, standsAt: number): boolean {
    if (this.#size === 0) return false
    const young = this.#youngOf(account)
    const known = young.get(id) ?? this.#old.get(account)?.get(id)
    if (known !== undefined && known < offset) return true
    if (young.set(id, standsAt) && ++this.#count >= this.#size) this.#age()
    return false
  }

  #youngOf(account: string): IdTable {
    const young = this.#young.get(account) ?? new IdTable('with numbers')
    this.#young.set(account, young)
    return young
  }

  #age(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#count = 0
  }
}
