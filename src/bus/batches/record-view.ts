import type { BusRecord, RecordHeaders } from '../port.ts'
import { FieldReader } from './field-reader.ts'

/**
 * A record that stands in a piece of bytes. Its key and its value are made when somebody asks for them: each is a Buffer of
 * 104 bytes, and thousands of records wait for their turn while the garbage collector copies what they hold.
 */
export class RecordView implements BusRecord {
  readonly offset: number
  readonly timestamp: number
  readonly headers: RecordHeaders
  readonly contentBytes: number
  readonly #piece: Buffer
  /** Where its key stands in the piece; its value is behind that. */
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
