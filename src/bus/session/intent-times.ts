import { windowSize } from './window.ts'

/** Offsets that were intended together. */
interface Group {
  /** Milliseconds since 1970. */
  since: number
  /** Some of them may be no intents any more, or stand in a later group as well. */
  offsets: number[]
}

/** IntentTimes remembers since when offsets may have been POSTed, by the clock of the process that first intended them. */
export class IntentTimes {
  /** Milliseconds since 1970, by the offset's place in the window. */
  readonly #since = new Float64Array(windowSize)
  /** The groups that may hold intents, in their order. */
  readonly #groups: Group[] = []

  set(offsets: readonly number[], since: number): void {
    for (const offset of offsets) this.#since[offset % windowSize] = since
    if (offsets.length > 0) this.#groups.push({ since, offsets: [...offsets] })
  }

  /** The earliest of some offsets of the window, of which one that is not known counts as 0. */
  earliestOf(offsets: readonly number[]): number {
    return Math.min(...offsets.map(offset => this.#since[offset % windowSize]!))
  }

  /** Since when the oldest of those has stood that may still be POSTed; 0: there is none, or that is unknown. */
  oldest(mayBePosted: (offset: number) => boolean): number {
    const groups = this.#groups
    for (let group = groups[0]; group; group = groups[0]) {
      const { since, offsets } = group
      for (let offset = offsets.at(-1); offset !== undefined; offset = offsets.at(-1)) {
        if (this.#since[offset % windowSize] === since && mayBePosted(offset)) return since
        offsets.pop()
      }
      groups.shift()
    }
    return 0
  }
}
