import type { BusRecord, Unreadable } from '../../bus/port.ts'
import type { Decoded, DecodeError, Decoder } from '../../records/decoder.ts'

/** DecodedRecord is what Decoded is, but for a record that may also stand for a batch that cannot be read. */
type DecodedRecord<T> = Exclude<Decoded<T>, { error: DecodeError }> | { ok: false; error: DecodeError | Unreadable }

export function decodeRecord<T>(decoder: Decoder<T>, { value, unreadable }: BusRecord): DecodedRecord<T> {
  return unreadable ? { ok: false, error: unreadable } : decoder.decode(value)
}
