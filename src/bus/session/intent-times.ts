/** IntentTimes remembers since when offsets may have been POSTed, by the clock of the process that first intended them. */
export class IntentTimes {
  /** Milliseconds since 1970 of each offset, none later than the one behind it. Some offsets may be no intents any more. */
  readonly #since = new Map<number, number>()
  #latest = Number.NEGATIVE_INFINITY

  set(offsets: readonly number[], since: number): void {
    if (since < this.#latest) this.#setBack(since)
    this.#latest = since
    for (const offset of offsets) {
      this.#since.delete(offset)
      this.#since.set(offset, since)
    }
  }

  /** Since when the oldest of those has stood that may still be POSTed; 0: there is none, or that is unknown. */
  oldest(mayBePosted: (offset: number) => boolean): number {
    for (const [offset, since] of this.#since) {
      if (mayBePosted(offset)) return since
      this.#since.delete(offset)
    }
    return 0
  }

  /** The clock was set back: nothing counts as later than what comes now. */
  #setBack(since: number): void {
    for (const [offset, other] of this.#since) if (other > since) this.#since.set(offset, since)
  }
}
