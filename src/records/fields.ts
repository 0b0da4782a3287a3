import { isObject, stringifyJson } from '../protocol/json.ts'
import { numberOrNull } from '../protocol/tolerant.ts'

/**
 * What the gateway said beyond what was read of it, so that nothing is lost over an unexpected form: fields that are not
 * known, and those that could not be read, which are null in `read`. A list is left as a whole.
 * @param read the known fields under the gateway's names
 * @returns undefined: nothing is left
 */
export function unread(said: unknown, read: unknown): unknown {
  if (said === null || said === undefined) return undefined
  if (read === null) return said
  if (Array.isArray(said)) {
    const items = read as unknown[]
    const isRead = items.length === said.length && said.every((item, i) => unread(item, items[i]) === undefined)
    return isRead ? undefined : said
  }
  if (!isObject(said)) return undefined
  const known = read as Record<string, unknown>
  const left = Object.entries(said)
    .map(([name, value]) => [name, Object.hasOwn(known, name) ? unread(value, known[name]) : value])
    .filter(([, value]) => value !== undefined)
  return left.length > 0 ? Object.fromEntries(left) : undefined
}

/** A nested object. */
export const objectOrNull = <T>(value: unknown, read: (fields: Record<string, unknown>) => T): T | null =>
  isObject(value) ? read(value) : null

/** A list of objects, without what is none. */
export const listOrNull = <T>(value: unknown, read: (fields: Record<string, unknown>) => T): T[] | null =>
  Array.isArray(value) ? value.filter(isObject).map(read) : null

/** JSON writes half a character as an escape, which readers in other languages cannot print: it becomes U+FFFD. */
const wellFormedJson = (text: string): string =>
  text.includes('\\ud') ? text.replaceAll(/\\(ud...|.)/g, (all, what) => (what.length > 1 ? '\ufffd' : all)) : text

/** The JSON of a value; null for one nested thousands of levels deep, which can be parsed, but not be written. */
export function jsonOrNull(value: unknown): string | null {
  if (value === undefined || value === null) return null
  try {
    return wellFormedJson(stringifyJson(value))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** Avro's long. */
export function intOrNull(value: unknown): number | null {
  const number = numberOrNull(value)
  return number !== null && isLong(number) ? number : null
}

/** Avro's int. */
export function int32OrNull(value: unknown): number | null {
  const int = intOrNull(value)
  return int !== null && (int | 0) === int ? int : null
}

/** The largest number that every Avro library writes as a long. A record with a larger one would fail its neighbours too. */
const mostLong = 2 ** 53 - 2

const isLong = (value: number): boolean => Number.isInteger(value) && Math.abs(value) <= mostLong
