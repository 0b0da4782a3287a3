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

export class Window {
  /** The first offset that is not done. */
  base: number
  /** The first offset that has not been taken in. */
  horizon: number
  #top: number
  /** A gap reaches from the horizon up to here, if this is beyond it. */
  #gapEnd = 0
  readonly #states: OffsetRing

  constructor(base: number) {
    this.base = base
    this.horizon = base
    this.#top = base
    this.#states = new OffsetRing(this, Uint8Array)
  }

  /** Whether the window has room for the offset now. */
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

  /** Number of offsets, from the base on, up to the last that is not new. */
  get length(): number {
    return Math.max(0, this.#top - this.base)
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
    for (; this.#top > end && this.#top > this.base; this.#top--) this.#states.set(this.#top - 1, NEW)
  }

  /** Moves the base past all offsets that are done, and takes in more of a gap. */
  advance(): void {
    for (;;) {
      this.#pass()
      if (this.horizon >= this.#gapEnd || !this.fits(this.horizon)) return
      if (this.horizon === this.base && this.length === 0) {
        this.base = this.horizon = this.#gapEnd // a gap can span millions of offsets
        return
      }
      while (this.horizon < this.#gapEnd && this.fits(this.horizon)) this.set(this.horizon++, DONE)
    }
  }

  #pass(): void {
    while (this.base < this.horizon && this.#states.get(this.base) === DONE) {
      this.#states.set(this.base, NEW)
      this.base++
    }
  }
}

/** Initial capacity; enough for an idle partition. */
const fewest = 64

type Numbers = Uint8Array | Uint32Array

/**
 * A number for each offset of a window. Grows with the widest window so far, since hundreds of sessions are mostly idle. An
 * offset that the base passes leaves its number in the slot of a later one. A caller that reads offsets it never set must
 * reset passed offsets to 0.
 */
export class OffsetRing {
  readonly #window: { readonly base: number }
  readonly #kind: new (
    length: number,
  ) => Numbers
  /** Ring of a power of two slots, indexed by the offset's low bits. */
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
