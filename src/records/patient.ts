import { type Clock, sleep } from '../clock.ts'
import type { DecodeError, Decoder } from './decoder.ts'

const retryMs = 1000

export type Definite<T> = { ok: true; value: T } | { ok: false; error: DecodeError }

/**
 * Decodes a value; while the registry cannot be asked for its schema, asks again.
 * @param wanted whether the answer still matters
 * @returns null when it does not matter any more
 */
export async function decodePatiently<T>(
  decoder: Decoder<T>,
  value: Buffer | null,
  clock: Clock,
  wanted: () => boolean,
): Promise<Definite<T> | null> {
  for (;;) {
    const decoded = decoder.decode(value)
    if (!('pending' in decoded)) return decoded
    if (!wanted()) return null
    await decoder.prepare(decoded.pending).catch(() => sleep(clock, retryMs))
  }
}

/**
 * Tells whether the record may be read when its schema is in the registry, or busgate is newer; all else is no record
 * of ours.
 */
export function isReadableLater({ code }: DecodeError): boolean {
  return code === 'SCHEMA_NOT_FOUND' || code === 'SCHEMA_INCOMPATIBLE'
}
