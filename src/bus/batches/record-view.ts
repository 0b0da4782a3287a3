import type { BusRecord, RecordHeaders } from '../port.ts'
import { FieldReader } from './field-reader.ts'

/**
 * A record backed by a piece of bytes. Key and value are built on access: a Buffer takes 104 bytes, and thousands of waiting
 * records would load the garbage collector.
 */
export class RecordView implements BusRecord {
  readonly offset: number
  readonly timestamp: number
  readonly headers: RecordHeaders
  readonly contentBytes: number
  readonly #piece: Buffer
  /** Position of the key in the piece; the value follows it. */
  readonly #at: number

  constructor(
    fields: Pick<BusRecord, 'offset' | 'timestamp' | 'headers'>,
    contentBytes: number,
    piece: Buffer,
    at: number,
  ) {
    this.offset = fields.offset
    this.timestamp = fields.timestamp
    this.headers = fields.headers
    this.contentBytes = contentBytes
    this.#piece = piece
    this.#at = at
  }

  get key(): Buffer | null {
    return new FieldReader(this.#piece, this.#at).view()
  }

  get value(): Buffer | null {
    const fields = new FieldReader(this.#piece, this.#at)
    fields.span()
    return fields.view()
  }
}
