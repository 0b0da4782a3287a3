import { IdSet } from '../records/id-set.ts'

/** Ids of messages by the slice of time in which their verdict came, at most so many: beyond that the oldest are forgotten. */
export class VerdictIds {
  size = 0
  readonly #most: number
  /** The ids of each account, by slice of time. */
  readonly #slices = new Map<number, Map<string, IdSet>>()

  constructor(most: number) {
    this.#most = most
  }

  has(account: string, id: bigint): boolean {
    for (const slice of this.#slices.values()) if (slice.get(account)?.has(id)) return true
    return false
  }

  /** @returns how many were forgotten for it */
  add(account: string, id: bigint, number: number): number {
    const slice = this.#slices.get(number) ?? new Map<string, IdSet>()
    this.#slices.set(number, slice)
    const ids = slice.get(account) ?? new IdSet()
    slice.set(account, ids)
    if (ids.add(id)) this.size++
    return this.size > this.#most ? this.#forget(Math.min(...this.#slices.keys())) : 0
  }

  forgetBefore(first: number): void {
    for (const number of this.#slices.keys()) if (number < first) this.#forget(number)
  }

  #forget(number: number): number {
    const count = [...(this.#slices.get(number)?.values() ?? [])].reduce((sum, { size }) => sum + size, 0)
    this.#slices.delete(number)
    this.size -= count
    return count
  }
}
