import { types } from 'node:util'
import { isInstant } from './words.ts'

/** A time: a Date, or milliseconds since 1970. */
export type Time = Date | number

/** Seconds since 1970 are earlier if they are read as milliseconds. */
const earliestNumber = Date.UTC(2001, 0)
/** Microseconds are later. */
export const latestTime = Date.UTC(9999, 11, 31)

/** What a time must be. */
export const timeExpected = 'a valid Date or a whole number of milliseconds since 1970 (not seconds, not microseconds)'

/** A time in milliseconds since 1970; null for anything that cannot be meant as one. 0 is the beginning of all. */
export function timeOf(value: unknown): number | null {
  if (types.isDate(value)) return isInstant(value.getTime()) ? value.getTime() : null
  const isTime = Number.isInteger(value) && Number(value) >= earliestNumber && Number(value) <= latestTime
  return isTime || value === 0 ? Number(value) : null
}

/** @throws Error that names the option */
export function requireTime(name: string, value: unknown): number {
  const time = timeOf(value)
  if (time !== null) return time
  throw new Error(`${name} must be ${timeExpected}`)
}
