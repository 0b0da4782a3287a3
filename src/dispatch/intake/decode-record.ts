import type { BusRecord, Unreadable } from '../../bus/port.ts'
import { apicurioSettings, type Decoded, type DecodeError, type Decoder } from '../../records/decoder.ts'

/** DecodedRecord is what Decoded is, but for a record that may also stand for a batch that cannot be read. */
type DecodedRecord<T> = Exclude<Decoded<T>, { error: DecodeError }> | { ok: false; error: DecodeError | Unreadable }

export function decodeRecord<T>(decoder: Decoder<T>, { value, unreadable, headers }: BusRecord): DecodedRecord<T> {
  if (unreadable) return { ok: false, error: unreadable }
  const decoded = decoder.decode(value)
  if (
    !('error' in decoded) ||
    decoded.error.code !== 'NOT_CONFLUENT' ||
    !apicurioHeaders.some(name => name in headers)
  ) {
    return decoded
  }
  const message = `Apicurio's serializer keeps the schema's id in headers: set ${apicurioSettings}.`
  return { ok: false, error: { code: 'NOT_CONFLUENT', message } }
}

const apicurioHeaders = ['apicurio.value.globalId', 'apicurio.value.contentId', 'apicurio.value.contentHash']
