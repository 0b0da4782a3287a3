import { type Clock, sleep } from '../clock.ts'
import type { Decoder } from './decoder.ts'

const retryMs = 1000

/**
 * Decodes a value; while the registry cannot be asked for its schema, asks again.
 * @param wanted whether the answer still matters
 * @returns null when it cannot be decoded, or does not matter any more
 */
export async function decodePatiently<T>(
  decoder: Decoder<T>,
  value: Buffer | null,
  clock: Clock,
  wanted: () => boolean,
): Promise<T | null> {
  for (;;) {
    const decoded = decoder.decode(value)
    if (decoded.ok) return decoded.value
    if (!('pending' in decoded) || !wanted()) return null
    await decoder.prepare(decoded.pending).catch(() => sleep(clock, retryMs))
  }
}
