import type { RecordHeaders } from '../port.ts'
import { addHeader, newHeaders } from '../record-headers.ts'
import { mostItems, tooManyItems, UnreadableBatch } from './unreadable.ts'

/** A record in its batch. */
interface PackedRecord {
  timestampDelta: number
  offsetDelta: number
  key: Buffer | null
  value: Buffer | null
  headers: RecordHeaders
}

/** The longest number takes 64 bits, 7 in a byte. */
const longestVarint = 10

/**
 * A record holds on to so many bytes around it, and not to its batch, let alone the fetch: one that waits for long may be
 * the last of them that does.
 */
const pieceBytes = 32 * 1024

/** Reads the records of one batch in turn. */
export class RecordReader {
  readonly #bytes: Buffer
  /** How many records and headers have been read. */
  items = 0
  #at = 0
  /** A copy of the bytes from `pieceStart` on, of which keys and values are views. */
  #piece = Buffer.alloc(0)
  #pieceStart = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** @throws UnreadableBatch when there is no further record, or it is not one */
  next(): PackedRecord {
    this.#count()
    const length = this.#varint()
    const end = this.#at + length
    if (length < 0 || end > this.#bytes.length) throw corrupt()
    if (end > this.#pieceStart + this.#piece.length) {
      this.#pieceStart = this.#at
      this.#piece = Buffer.from(this.#bytes.subarray(this.#at, Math.max(end, this.#at + pieceBytes)))
    }
    this.#at++ // attributes: none are defined
    const timestampDelta = this.#varint()
    const offsetDelta = this.#varint()
    const key = this.#view()
    const value = this.#view()
    const headers = this.#headers()
    if (this.#at !== end) throw corrupt()
    return { timestampDelta, offsetDelta, key, value, headers }
  }

  /** @throws UnreadableBatch when there is something left */
  end(): void {
    if (this.#at !== this.#bytes.length) throw corrupt()
  }

  #headers(): RecordHeaders {
    const headers = newHeaders()
    for (let left = this.#varint(); left > 0; left--) {
      const name = this.#view()?.toString() ?? ''
      addHeader(headers, name, this.#view() ?? Buffer.alloc(0)) // nobody behind the bus expects one without a value
      this.#count()
    }
    return headers
  }

  #count(): void {
    if (++this.items > mostItems) throw tooManyItems()
  }

  #view(): Buffer | null {
    const length = this.#varint()
    if (length === -1) return null
    const start = this.#at
    const end = start + length
    if (length < 0 || end > this.#pieceStart + this.#piece.length) throw corrupt()
    this.#at = end
    return this.#piece.subarray(start - this.#pieceStart, end - this.#pieceStart)
  }

  /** Zigzag: the lowest bit is the sign. */
  #varint(): number {
    const bytes = this.#bytes
    let byte = bytes[this.#at++]
    if (byte !== undefined && byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
    let value = 0
    let weight = 1
    for (let i = 0; i < longestVarint; i++) {
      if (byte === undefined) throw corrupt()
      value += (byte & 0x7f) * weight
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      weight *= 128
      byte = bytes[this.#at++]
    }
    throw corrupt()
  }
}

function corrupt(): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', 'its records are not as long as they say')
}
