import type { BusRecord, RecordHeaders } from '../port.ts'
import { addHeader, newHeaders, noHeaders } from '../record-headers.ts'
import { timestampOf } from '../record-time.ts'
import { corruptRecords, FieldReader } from './field-reader.ts'
import { RecordView } from './record-view.ts'
import { UnreadableBatch } from './unreadable.ts'

/**
 * A record keeps a copy of this many bytes around it alive, instead of its batch or the whole fetch answer: a record that
 * waits for long would otherwise hold all of them.
 */
const pieceBytes = 32 * 1024

/**
 * Most headers of one record. Each takes hundreds of bytes in memory, and a hostile producer can compress it to almost none.
 */
const mostHeaders = 10_000

/** Reads the records of one batch in order: `next`, then `record` or `pass`. */
export class RecordReader extends FieldReader {
  timestampDelta = 0
  offsetDelta = 0
  length = 0
  /** Number of the current record's headers, after `record`. */
  headers = 0
  /** Reads a copied piece of the bytes, which begins at `pieceStart`. */
  #piece = new FieldReader(Buffer.alloc(0))
  #pieceStart = 0

  /** @throws UnreadableBatch when there is no further record */
  next(): void {
    const length = this.varint()
    const end = this.at + length
    if (length < 0 || end > this.bytes.length) throw corruptRecords()
    this.length = length
    this.end = end
    this.at++ // attributes: unused
    this.timestampDelta = this.varint()
    this.offsetDelta = this.varint()
  }

  /** @throws UnreadableBatch when the record is corrupt */
  record(offset: number, timestamp: number): BusRecord {
    if (this.end > this.#pieceStart + this.#piece.bytes.length) {
      this.#pieceStart = this.at
      const piece = this.bytes.subarray(this.at, Math.max(this.end, this.at + pieceBytes))
      const isMost = 2 * piece.length > piece.buffer.byteLength // a copy would then save little memory
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

  /** Skips and validates a record without decoding it. @throws UnreadableBatch when the record is corrupt */
  pass(): void {
    this.span()
    this.span()
    for (let left = headerCount(this); left > 0; left--) {
      this.span()
      this.span()
    }
    if (this.at !== this.end) throw corruptRecords()
  }

  /** @throws UnreadableBatch when bytes are left over */
  finish(): void {
    if (this.at !== this.bytes.length) throw corruptRecords()
  }

  #headersIn(fields: FieldReader): RecordHeaders {
    this.headers = headerCount(fields)
    if (this.headers === 0) return noHeaders
    const headers = newHeaders()
    for (let left = this.headers; left > 0; left--) {
      const name = fields.view()?.toString() ?? ''
      addHeader(headers, name, fields.view() ?? Buffer.alloc(0)) // consumers of the port expect every header to have a value
    }
    return headers
  }
}

function headerCount(fields: FieldReader): number {
  const count = fields.varint()
  if (count > mostHeaders) {
    throw new UnreadableBatch('BATCH_TOO_LARGE', `one of its records has more than ${mostHeaders} headers`)
  }
  return Math.max(0, count)
}
