import { Buffer, isUtf8 } from 'node:buffer'

/** Faster built from its characters than sliced. */
const shortText = 12
/** Bytes of an integer that is exact as a number: 7 bits each. */
const exactBytes = 7
const longestShift = 63n
const beyondLong = 2n ** 64n

/** Thrown when the record ends before its schema does. */
export class Truncated extends Error {}

/** Reads Avro's primitive types. Trusts no length: a `position` beyond the end throws Truncated. */
export class Cursor {
  position: number
  /** The first text that is not UTF-8, as it was read. */
  invalidText: string | null = null
  readonly #bytes: Buffer

  constructor(bytes: Buffer, position: number) {
    this.#bytes = bytes
    this.position = position
  }

  boolean(): boolean {
    return this.#bytes[this.skip(1)] !== 0
  }

  float(): number {
    return this.#bytes.readFloatLE(this.skip(4))
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.skip(8))
  }

  int(): number {
    const value = this.long()
    if ((value | 0) !== value) throw new Error('an int has more than 32 bits')
    return value
  }

  /** The nearest number beyond 2^53. */
  long(): number {
    const byte = this.#bytes[this.position]!
    if (byte >= 0x80) return Number(this.#integer())
    if (this.position++ >= this.#bytes.length) throw new Truncated()
    return (byte >>> 1) ^ -(byte & 1)
  }

  bigint(): bigint {
    return BigInt(this.#integer())
  }

  #integer(): number | bigint {
    const start = this.position
    let value = 0
    for (let scale = 1; this.position < start + exactBytes; scale *= 0x80) {
      const byte = this.#byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
    let rest = BigInt(value)
    for (let shift = 7n * BigInt(exactBytes); ; shift += 7n) {
      const byte = this.#byte()
      rest |= BigInt(byte & 0x7f) << shift
      if (shift > longestShift || rest >= beyondLong) throw new Error('a number has more than 64 bits')
      if (byte < 0x80) return (rest >> 1n) ^ -(rest & 1n)
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.position++]
    if (byte === undefined) throw new Truncated()
    return byte
  }

  text(): string {
    const bytes = this.#bytes
    const start = this.skip(this.long())
    const end = this.position
    let at = start
    if (end - start <= shortText) {
      let text = ''
      while (at < end && bytes[at]! < 0x80) text += String.fromCharCode(bytes[at++]!)
      if (at === end) return text
    }
    while (at < end && bytes[at]! < 0x80) at++
    if (at === end) return bytes.toString('latin1', start, end)
    const text = bytes.toString('utf8', start, end)
    if (this.invalidText === null && !isUtf8(bytes.subarray(at, end))) this.invalidText = text
    return text
  }

  /** Copied, since the record's buffer is larger. */
  slice(length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(this.skip(length), this.position))
  }

  /** @returns where the skipped bytes begin */
  skip(length: number): number {
    if (length < 0) throw new Error('a length is negative')
    const start = this.position
    this.position += length
    if (this.position > this.#bytes.length) throw new Truncated()
    return start
  }
}
