import { OffsetRing, type Window } from './window.ts'

/** Offsets that were intended together. */
interface Group {
  /** Milliseconds since 1970. */
  since: number
  /** Some of them may be no intents any more, or stand in a later group as well. */
  offsets: number[]
}

/** Fewer groups than this are not worth a look at those that stand behind an old intent. */
const fewGroups = 1024

/** IntentTimes remembers since when offsets may have been POSTed, by the clock of the process that first intended them. */
export class IntentTimes {
  /** Milliseconds since 1970. */
  readonly #since: OffsetRing
  /** The groups that may hold intents, none later than the one behind it. */
  #groups: Group[] = []
  /** With more groups than this, those that hold no intents any more are looked for. */
  #enough = fewGroups

  constructor(window: Window) {
    this.#since = new OffsetRing(window, Float64Array)
  }

  set(offsets: readonly number[], since: number): void {
    if (offsets.length === 0) return
    const last = this.#groups.at(-1)
    if (last && since < last.since) this.#setBack(since)
    for (const offset of offsets) this.#since.set(offset, since)
    this.#groups.push({ since, offsets: [...offsets] })
  }

  /** The earliest of some offsets, all of which have been set. */
  earliestOf(offsets: readonly number[]): number {
    return Math.min(...offsets.map(offset => this.#since.get(offset)))
  }

  /** Since when the oldest of those has stood that may still be POSTed; 0: there is none, or that is unknown. */
  oldest(mayBePosted: (offset: number) => boolean): number {
    const isLeft = ({ since, offsets }: Group) => {
      for (let offset = offsets.at(-1); offset !== undefined; offset = offsets.at(-1)) {
        if (this.#since.get(offset) === since && mayBePosted(offset)) return true
        offsets.pop()
      }
      return false
    }
    if (this.#groups.length > this.#enough) {
      this.#groups = this.#groups.filter(isLeft)
      this.#enough = Math.max(fewGroups, 2 * this.#groups.length)
    }
    const first = this.#groups.findIndex(isLeft)
    this.#groups.splice(0, first < 0 ? this.#groups.length : first)
    return this.#groups[0]?.since ?? 0
  }

  /** The clock was set back: nothing counts as later than what comes now. */
  #setBack(since: number): void {
    for (const group of this.#groups) {
      if (group.since <= since) continue
      for (const offset of group.offsets) {
        if (this.#since.get(offset) === group.since) this.#since.set(offset, since)
      }
      group.since = since
    }
  }
}
