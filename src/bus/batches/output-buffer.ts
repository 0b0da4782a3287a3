import { tooLarge, UnreadableBatch } from './unreadable.ts'

/** The output of a decompressor: literal bytes, and copies of earlier output. */
export class OutputBuffer {
  #bytes: Buffer
  #length = 0
  readonly #most: number

  /** @param expected bytes to allocate at first @param most bytes it may grow to */
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

  /** Appends bytes of the source. The range must exist. */
  append(source: Buffer, from: number, count: number): void {
    this.#makeRoom(count)
    const bytes = this.#bytes
    let at = this.#length
    if (count > 64) source.copy(bytes, at, from, from + count)
    else for (let i = 0; i < count; i++) bytes[at++] = source[from + i]!
    this.#length += count
  }

  /**
   * Appends the bytes that begin `distance` before the end; a count beyond the distance repeats them.
   * @param start bytes before it cannot be copied
   */
  repeat(distance: number, count: number, start = 0): void {
    if (distance < 1 || distance > this.#length - start) {
      throw new UnreadableBatch('BATCH_CORRUPT', 'it copies bytes that do not exist')
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
