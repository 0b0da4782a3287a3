/** IntentTimes remembers since when offsets may have been POSTed, by the clock of the process that first intended them. */
export class IntentTimes {
  /** Milliseconds since 1970, by offset, the longest first; some of them are no intents any more. */
  readonly #since = new Map<number, number>()

  set(offset: number, since: number): void {
    this.#since.delete(offset) // it is the youngest from now on
    this.#since.set(offset, since)
  }

  /** The earliest of some offsets, of which one that is not known counts as 0. */
  earliestOf(offsets: readonly number[]): number {
    return Math.min(...offsets.map(offset => this.#since.get(offset) ?? 0))
  }

  /** Since when the oldest of those has stood that may still be POSTed; 0: there is none, or that is unknown. */
  oldest(mayBePosted: (offset: number) => boolean): number {
    for (const [offset, since] of this.#since) {
      if (mayBePosted(offset)) return since
      this.#since.delete(offset)
    }
    return 0
  }
}
