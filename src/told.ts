/** Most texts that are remembered: those of others may be of any number. */
const mostTexts = 100

/** Remembers which troubles were told, so that each is told once, or once in an interval while it lasts. */
export class Told {
  readonly #everyMs: number
  readonly #toldAt = new Map<string, number>()
  #latest: string | null = null

  /** @param everyMs after which time a trouble that lasts is told again; by default never */
  constructor(everyMs = Number.POSITIVE_INFINITY) {
    this.#everyMs = everyMs
  }

  /** The trouble now, told or not; null: none. */
  get latest(): string | null {
    return this.#latest
  }

  /** The trouble has occurred. @param now monotonic milliseconds; needed with an interval @returns whether to tell it */
  isNew(text: string, now = 0): boolean {
    this.#latest = text
    const toldAt = this.#toldAt.get(text)
    if (toldAt !== undefined && now - toldAt < this.#everyMs) return false
    if (this.#toldAt.size >= mostTexts) this.#toldAt.clear()
    this.#toldAt.set(text, now)
    return true
  }

  /** The trouble is over: the next one is told. @returns whether there was one */
  clear(): boolean {
    const had = this.#latest !== null
    this.#toldAt.clear()
    this.#latest = null
    return had
  }
}
