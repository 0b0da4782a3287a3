import { Buffer } from 'node:buffer'
import type { RecordHeaders } from '../port.ts'
import { addHeader, newHeaders, noHeaders } from '../record-headers.ts'
import { mostHeaders, tooManyHeaders, UnreadableBatch } from './unreadable.ts'

/** RecordContent is what a record holds, apart from where it stands. */
interface RecordContent {
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

/** Reads the records of one batch in turn: `next`, then `content` or `pass`. */
export class RecordReader {
  timestampDelta = 0
  offsetDelta = 0
  /** Bytes of the record that `next` came to. */
  length = 0
  /** Where it stands among the bytes. */
  at = 0
  /** How many headers it has, once `content` has read them. */
  headers = 0
  readonly #bytes: Buffer
  /** Where the record ends. */
  #end = 0
  /** A copy of the bytes from `pieceStart` on, of which keys and values are views. */
  #piece = Buffer.alloc(0)
  #pieceStart = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** @throws UnreadableBatch when there is no further record */
  next(): void {
    const length = this.#varint()
    const end = this.at + length
    if (length < 0 || end > this.#bytes.length) throw corrupt()
    this.length = length
    this.#end = end
    this.at++ // attributes: none are defined
    this.timestampDelta = this.#varint()
    this.offsetDelta = this.#varint()
  }

  /** @throws UnreadableBatch when it is no record */
  content(): RecordContent {
    if (this.#end > this.#pieceStart + this.#piece.length) {
      this.#pieceStart = this.at
      this.#piece = Buffer.from(this.#bytes.subarray(this.at, Math.max(this.#end, this.at + pieceBytes)))
    }
    const key = this.#view()
    const value = this.#view()
    const headers = this.#headers()
    if (this.at !== this.#end) throw corrupt()
    return { key, value, headers }
  }

  /** Passes over a record without making anything of it. @throws UnreadableBatch when it is no record */
  pass(): void {
    this.#span()
    this.#span()
    for (let left = this.#headerCount(); left > 0; left--) {
      this.#span()
      this.#span()
    }
    if (this.at !== this.#end) throw corrupt()
  }

  /** @throws UnreadableBatch when there is something left */
  end(): void {
    if (this.at !== this.#bytes.length) throw corrupt()
  }

  #headers(): RecordHeaders {
    this.headers = this.#headerCount()
    if (this.headers === 0) return noHeaders
    const headers = newHeaders()
    for (let left = this.headers; left > 0; left--) {
      const name = this.#view()?.toString() ?? ''
      addHeader(headers, name, this.#view() ?? Buffer.alloc(0)) // nobody behind the bus expects one without a value
    }
    return headers
  }

  #headerCount(): number {
    const count = this.#varint()
    if (count > mostHeaders) throw tooManyHeaders()
    return Math.max(0, count)
  }

  #view(): Buffer | null {
    const length = this.#span()
    if (length === -1) return null
    const end = this.at - this.#pieceStart
    return this.#piece.subarray(end - length, end)
  }

  /** Goes behind the bytes that stand here. @returns how many; -1: none are there */
  #span(): number {
    const length = this.#varint()
    if (length === -1) return length
    const end = this.at + length
    if (length < 0 || end > this.#end) throw corrupt()
    this.at = end
    return length
  }

  /** Zigzag: the lowest bit is the sign. */
  #varint(): number {
    const bytes = this.#bytes
    let byte = bytes[this.at++]
    if (byte !== undefined && byte < 0x80) return (byte >>> 1) ^ -(byte & 1)
    let value = 0
    let weight = 1
    for (let i = 0; i < longestVarint; i++) {
      if (byte === undefined) throw corrupt()
      value += (byte & 0x7f) * weight
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      weight *= 128
      byte = bytes[this.at++]
    }
    throw corrupt()
  }
}

function corrupt(): UnreadableBatch {
  return new UnreadableBatch('BATCH_CORRUPT', 'its records are not as long as they say')
}
