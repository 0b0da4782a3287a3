import { isObject, stringifyJson } from '../protocol/json.ts'
import { numberOrNull } from '../protocol/tolerant.ts'

/**
 * The part of the gateway's answer that was not read, so that nothing is lost over an unexpected form: unknown fields, and
 * fields that are null in `read` because they are invalid. Lists are kept whole.
 * @param read the known fields, under the gateway's names
 * @returns undefined if everything was read
 */
export function unreadPart(answer: unknown, read: unknown): unknown {
  if (answer === null || answer === undefined) return undefined
  if (read === null) return answer
  if (Array.isArray(answer)) {
    const items = read as unknown[]
    const isRead = items.length === answer.length && answer.every((item, i) => unreadPart(item, items[i]) === undefined)
    return isRead ? undefined : answer
  }
  if (!isObject(answer)) return undefined
  const known = read as Record<string, unknown>
  const left = Object.entries(answer)
    .map(([name, value]) => [name, Object.hasOwn(known, name) ? unreadPart(value, known[name]) : value])
    .filter(([, value]) => value !== undefined)
  return left.length > 0 ? Object.fromEntries(left) : undefined
}

export const objectOrNull = <T>(value: unknown, read: (fields: Record<string, unknown>) => T): T | null =>
  isObject(value) ? read(value) : null

/** A list of objects; skips other items. */
export const listOrNull = <T>(value: unknown, read: (fields: Record<string, unknown>) => T): T[] | null =>
  Array.isArray(value) ? value.filter(isObject).map(read) : null

/** Replaces lone surrogates, which JSON escapes, by U+FFFD: readers in other languages cannot print them. */
export const wellFormedJson = (text: string): string =>
  text.includes('\\ud') ? text.replaceAll(/\\(ud...|.)/g, (all, what) => (what.length > 1 ? '\ufffd' : all)) : text

/**
 * The JSON of a value; null if it is nested too deeply to be serialised (thousands of levels).
 * @param clean removes what must not be kept
 */
export function jsonOrNull(value: unknown, clean: (value: unknown) => unknown): string | null {
  if (value === undefined || value === null) return null
  try {
    return wellFormedJson(stringifyJson(clean(value)))
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The value as an Avro long, or null. */
export function intOrNull(value: unknown): number | null {
  const number = numberOrNull(value)
  return number !== null && isLong(number) ? number : null
}

/** The value as an Avro int, or null. */
export function int32OrNull(value: unknown): number | null {
  const int = intOrNull(value)
  return int !== null && (int | 0) === int ? int : null
}

/** The largest number that every Avro library encodes as a long. A larger one would fail the whole batch. */
const mostLong = 2 ** 53 - 2

const isLong = (value: number): boolean => Number.isInteger(value) && Math.abs(value) <= mostLong
