/** So many offsets have room from the start: at a trickle no more stand above the base. */
const fewest = 64

type Numbers = Uint8Array | Uint32Array | Float64Array

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
