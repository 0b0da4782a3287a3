import { tooLarge, UnreadableBatch } from './unreadable.ts'

/** Holds what was unpacked so far: bytes as they stand, and repetitions of bytes that are there already. */
export class Inflated {
  #bytes: Buffer
  #length = 0
  readonly #most: number

  /**
   * @param expected bytes to make room for at once
   * @param most bytes it may grow to
   */
  constructor(expected: number, most: number) {
    this.#most = most
    this.#bytes = Buffer.allocUnsafe(Math.min(expected, most))
  }

  get length(): number {
    return this.#length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Appends bytes of the source, which must be there. */
  append(source: Buffer, from: number, count: number): void {
    this.#makeRoom(count)
    const bytes = this.#bytes
    let at = this.#length
    if (count > 64) source.copy(bytes, at, from, from + count)
    else for (let i = 0; i < count; i++) bytes[at++] = source[from + i]!
    this.#length += count
  }

  /**
   * Appends what stands `distance` bytes before the end; a count beyond the distance repeats it.
   * @param start nothing before it may be repeated
   */
  repeat(distance: number, count: number, start = 0): void {
    if (distance < 1 || distance > this.#length - start) {
      throw new UnreadableBatch('BATCH_CORRUPT', 'it repeats bytes that are not there')
    }
    this.#makeRoom(count)
    const bytes = this.#bytes
    const end = this.#length + count
    let at = this.#length
    if (distance >= count && count > 64) bytes.copyWithin(at, at - distance, at - distance + count)
    else while (at < end) bytes[at] = bytes[at++ - distance]!
    this.#length = end
  }

  #makeRoom(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#bytes.length) return
    if (needed > this.#most) throw tooLarge(this.#most)
    const grown = Buffer.allocUnsafe(Math.min(Math.max(needed, 2 * this.#bytes.length), this.#most))
    this.#bytes.copy(grown, 0, 0, this.#length)
    this.#bytes = grown
  }
}
