import type { RecordHeaders } from '../bus/port.ts'

/** The number that a header holds once; null where it holds none, or one below zero. */
export function numberIn(headers: RecordHeaders, name: string): number | null {
  const value = headers[name]
  if (value === undefined || Array.isArray(value)) return null
  const number = Number(value.toString())
  return Number.isFinite(number) && number >= 0 ? number : null
}
