import type { BusRecord } from '../bus/port.ts'
import type { Decoded, Decoder } from '../records/decoder.ts'

/** Decodes records, asking the registry where needed. @throws RegistryUnavailable before anything is answered */
export async function decodeAll<T>(decoder: Decoder<T>, records: readonly BusRecord[]): Promise<Decoded<T>[]> {
  for (const { value } of records) {
    const decoded = decoder.decode(value)
    if (!decoded.ok && 'pending' in decoded) await decoder.prepare(decoded.pending)
  }
  return records.map(({ value }) => decoder.decode(value))
}
