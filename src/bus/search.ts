import type { BusRecord, Needle } from './port.ts'

/** Tells whether the record is one of those that are looked for. */
export function holds({ key, value }: BusRecord, needles: readonly Needle[]): boolean {
  return needles.some(needle => {
    if ('key' in needle) return key?.equals(needle.key) ?? false
    return (value?.includes(needle.bytes) ?? false) || (key?.includes(needle.bytes) ?? false)
  })
}
