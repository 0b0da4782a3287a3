import type { BusRecord, RecordHeaders } from '../port.ts'
import { addHeader, newHeaders, noHeaders } from '../record-headers.ts'
import { timestampOf } from '../record-time.ts'
import { corruptRecords, FieldReader } from './field-reader.ts'
import { RecordView } from './record-view.ts'
import { mostHeaders, tooManyHeaders } from './unreadable.ts'

/**
 * A record holds on to so many bytes around it, and not to its batch, let alone the fetch: one that waits for long may be
 * the last of them that does.
 */
const pieceBytes = 32 * 1024

/** Reads the records of one batch in turn: `next`, then `record` or `pass`. */
export class RecordReader extends FieldReader {
  timestampDelta = 0
  offsetDelta = 0
  /** Bytes of the record that `next` came to. */
  length = 0
  /** How many headers it has, once `record` has read them. */
  headers = 0
  /** Reads a copy of the bytes from `pieceStart` on, in which records stand. */
  #piece = new FieldReader(Buffer.alloc(0))
  #pieceStart = 0

  /** @throws UnreadableBatch when there is no further record */
  next(): void {
    const length = this.varint()
    const end = this.at + length
    if (length < 0 || end > this.bytes.length) throw corruptRecords()
    this.length = length
    this.end = end
    this.at++ // attributes: none are defined
    this.timestampDelta = this.varint()
    this.offsetDelta = this.varint()
  }

  /** @throws UnreadableBatch when it is no record */
  record(offset: number, timestamp: number): BusRecord {
    if (this.end > this.#pieceStart + this.#piece.bytes.length) {
      this.#pieceStart = this.at
      const piece = this.bytes.subarray(this.at, Math.max(this.end, this.at + pieceBytes))
      const isMost = 2 * piece.length > piece.buffer.byteLength // then a copy would hardly hold on to less
      this.#piece = new FieldReader(isMost ? piece : Buffer.from(piece))
    }
    const piece = this.#piece
    const at = this.at - this.#pieceStart
    piece.at = at
    piece.end = this.end - this.#pieceStart
    const contentBytes = Math.max(0, piece.span()) + Math.max(0, piece.span())
    const headers = this.#headersIn(piece)
    if (piece.at !== piece.end) throw corruptRecords()
    this.at = this.end
    return new RecordView({ offset, timestamp: timestampOf(timestamp), headers }, contentBytes, piece.bytes, at)
  }

  /** Passes over a record without making anything of it. @throws UnreadableBatch when it is no record */
  pass(): void {
    this.span()
    this.span()
    for (let left = headerCount(this); left > 0; left--) {
      this.span()
      this.span()
    }
    if (this.at !== this.end) throw corruptRecords()
  }

  /** @throws UnreadableBatch when there is something left */
  finish(): void {
    if (this.at !== this.bytes.length) throw corruptRecords()
  }

  #headersIn(fields: FieldReader): RecordHeaders {
    this.headers = headerCount(fields)
    if (this.headers === 0) return noHeaders
    const headers = newHeaders()
    for (let left = this.headers; left > 0; left--) {
      const name = fields.view()?.toString() ?? ''
      addHeader(headers, name, fields.view() ?? Buffer.alloc(0)) // nobody behind the bus expects one without a value
    }
    return headers
  }
}

function headerCount(fields: FieldReader): number {
  const count = fields.varint()
  if (count > mostHeaders) throw tooManyHeaders()
  return Math.max(0, count)
}
