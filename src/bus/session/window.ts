/**
 * The window: what is known of each offset above the committed base. At most `windowSize` offsets, two bits each in the
 * checkpoint. Offsets below the base are done; offsets at or above `horizon` have not been taken in yet.
 */

/** 8,192 offsets packed are 2,734 characters of the 4,096 that a broker allows for an offset's metadata. */
export const windowSize = 8192

export const NEW = 0
/** A POST may begin or may have begun. */
export const INTENT = 1
/** The final result (or doubt) is published, or the offset is a gap in the log. */
export const DONE = 2
/** Another process left it as an intent and this one has not yet published its doubt. */
export const IN_DOUBT = 3
export type OffsetState = typeof NEW | typeof INTENT | typeof DONE | typeof IN_DOUBT

export class Window {
  /** The first offset that is not done. */
  base: number
  /** The first offset that has not been taken in. */
  horizon: number
  #top: number
  readonly #states: OffsetRing

  constructor(base: number) {
    this.base = base
    this.horizon = base
    this.#top = base
    this.#states = new OffsetRing(this, Uint8Array)
  }

  /** Tells whether an offset can be tracked now. */
  fits(offset: number): boolean {
    return offset - this.base < windowSize
  }

  get(offset: number): OffsetState {
    if (offset < this.base) return DONE
    return this.#states.get(offset) as OffsetState
  }

  set(offset: number, state: OffsetState): void {
    if (offset < this.base || !this.fits(offset)) throw new RangeError(`offset ${offset} is outside of the window`)
    this.#states.set(offset, state)
    if (state !== NEW && offset >= this.#top) this.#top = offset + 1
  }

  /** Tells how many offsets from the base on may be other than new. */
  get length(): number {
    return Math.max(0, this.#top - this.base)
  }

  /**
   * Takes in everything below `offset` as gaps: markers of transactions, aborted or compacted records.
   * Stops where the window is full: `horizon` tells how far it came.
   */
  skipTo(offset: number): void {
    while (this.horizon < offset) {
      if (this.horizon === this.base && this.length === 0) {
        this.base = this.horizon = offset
        return // a gap can be millions wide
      }
      if (!this.fits(this.horizon)) this.advance()
      if (!this.fits(this.horizon)) return
      this.set(this.horizon++, DONE)
    }
    this.advance()
  }

  /** The log ended at `end` once: what is known of later offsets was said of records that are gone. */
  forgetFrom(end: number): void {
    for (; this.#top > end && this.#top > this.base; this.#top--) this.#states.set(this.#top - 1, NEW)
  }

  /** Moves the base over everything that is done. */
  advance(): void {
    while (this.base < this.horizon && this.#states.get(this.base) === DONE) {
      this.#states.set(this.base, NEW)
      this.base++
    }
  }
}

/** So many offsets have room from the start: at a trickle no more stand above the base. */
const fewest = 64

type Numbers = Uint8Array | Uint32Array

/**
 * OffsetRing keeps a number for each offset of a window. It takes the memory of the offsets that once stood above the base
 * together, not of all that may: hundreds of sessions are mostly idle. An offset that the base has passed leaves its number
 * to a later one: whoever asks for an offset that was never set resets those that pass to 0.
 */
export class OffsetRing {
  readonly #window: { readonly base: number }
  readonly #kind: new (
    length: number,
  ) => Numbers
  /** The places of a power of two offsets, from the base on. */
  #numbers: Numbers

  constructor(window: { readonly base: number }, kind: new (length: number) => Numbers) {
    this.#window = window
    this.#kind = kind
    this.#numbers = new kind(fewest)
  }

  get(offset: number): number {
    const numbers = this.#numbers
    return offset - this.#window.base < numbers.length ? numbers[offset & (numbers.length - 1)]! : 0
  }

  set(offset: number, number: number): void {
    if (offset - this.#window.base >= this.#numbers.length) this.#growFor(offset)
    this.#numbers[offset & (this.#numbers.length - 1)] = number
  }

  #growFor(offset: number): void {
    const { base } = this.#window
    const before = this.#numbers
    let { length } = before
    while (offset - base >= length) length *= 2
    this.#numbers = new this.#kind(length)
    for (let at = base; at < base + before.length; at++) {
      this.#numbers[at & (length - 1)] = before[at & (before.length - 1)]!
    }
  }
}
