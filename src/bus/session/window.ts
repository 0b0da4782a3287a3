/**
 * The window: the state of each offset above the committed base. It holds at most `windowSize` offsets, with two bits each in
 * the checkpoint. Offsets below the base are done; offsets from `horizon` on have not been taken in yet.
 */

/** 8,192 offsets take 2,734 of the 4,096 characters that a broker allows for an offset's metadata. */
export const windowSize = 8192

export const NEW = 0
/** A POST may begin, or may have begun. */
export const INTENT = 1
/** The final result or the doubt is published, or the offset is a gap in the log. */
export const DONE = 2
/** Another process left an intent, and its doubt is not published yet. */
export const IN_DOUBT = 3
export type OffsetState = typeof NEW | typeof INTENT | typeof DONE | typeof IN_DOUBT

const slotOf = (offset: number) => offset % windowSize

export class Window {
  /** The first offset that is not done. */
  base: number
  /** The first offset that has not been taken in. */
  horizon: number
  #top: number
  /** A gap reaches from the horizon up to here, if this is beyond it. */
  #gapEnd = 0
  /** A ring, indexed by the offset's low bits. */
  readonly #states = new Uint8Array(windowSize)

  constructor(base: number) {
    this.base = base
    this.horizon = base
    this.#top = base
  }

  /** Whether the window has room for the offset now. */
  fits(offset: number): boolean {
    return offset - this.base < windowSize
  }

  get(offset: number): OffsetState {
    if (offset < this.base) return DONE
    return this.fits(offset) ? (this.#states[slotOf(offset)] as OffsetState) : NEW
  }

  set(offset: number, state: OffsetState): void {
    if (offset < this.base || !this.fits(offset)) throw new RangeError(`offset ${offset} is outside of the window`)
    this.#states[slotOf(offset)] = state
    if (offset >= this.#top) this.#top = offset + 1
  }

  /** Number of offsets, from the base on, up to the last whose state was set. */
  get length(): number {
    return Math.max(0, this.#top - this.base)
  }

  /** These offsets. */
  get offsets(): number[] {
    return Array.from({ length: this.length }, (_, i) => this.base + i)
  }

  /**
   * Takes in everything below `offset` as gaps: transaction markers, aborted or compacted records, the rest of an unreadable
   * batch. What the window has no room for is taken in as its base moves, so that no checkpoint ends inside of such a batch.
   */
  skipTo(offset: number): void {
    this.#gapEnd = Math.max(this.#gapEnd, offset)
    this.advance()
  }

  /** The log was truncated at `end`: the states of later offsets belong to lost records. */
  forgetFrom(end: number): void {
    for (const offset of this.offsets) if (offset >= end) this.#states[slotOf(offset)] = NEW
    this.#top = Math.min(this.#top, end)
  }

  /** Moves the base past all offsets that are done, and takes in more of a gap. */
  advance(): void {
    for (;;) {
      while (this.base < this.horizon && this.#states[slotOf(this.base)] === DONE) {
        this.#states[slotOf(this.base++)] = NEW
      }
      if (this.horizon >= this.#gapEnd || !this.fits(this.horizon)) return
      if (this.horizon === this.base && this.length === 0) {
        this.base = this.horizon = this.#gapEnd // a gap can span millions of offsets
        return
      }
      while (this.horizon < this.#gapEnd && this.fits(this.horizon)) this.set(this.horizon++, DONE)
    }
  }
}
