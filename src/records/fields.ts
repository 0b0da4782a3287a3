import { isObject, stringifyJson } from '../protocol/json.ts'
import { toFlag } from '../protocol/tolerant.ts'

/**
 * The fields of an object that the gateway sent. Each known one is taken as what it is wanted as; what cannot be read as
 * that, and what nobody takes, is left and goes on as it came. So nothing is lost over an unexpected form.
 */
export class PayloadFields {
  readonly #object: Readonly<Record<string, unknown>>
  readonly #taken: string[] = []
  /** The parts of nested objects that nobody took. */
  #parts: Record<string, unknown> | null = null

  constructor(object: Readonly<Record<string, unknown>>) {
    this.#object = object
  }

  /** @param read answers null for what it cannot read: that is left */
  take<T>(name: string, read: (value: unknown) => T | null): T | null {
    const value = this.#object[name]
    const result = read(value)
    if (result !== null || value === null) this.#taken.push(name)
    return result
  }

  /** A nested object, of which the part that is not read is left. */
  object<T>(name: string, read: (fields: PayloadFields) => T): T | null {
    const value = this.#object[name]
    if (!isObject(value)) return this.take<T>(name, () => null)
    const inner = new PayloadFields(value)
    const result = read(inner)
    const { rest } = inner
    if (rest === null) this.#taken.push(name)
    else this.#parts = { ...this.#parts, [name]: rest }
    return result
  }

  /** A list of objects, without what is none. It is left as a whole where any of it was not read. */
  list<T>(name: string, read: (fields: PayloadFields) => T): T[] {
    const value = this.#object[name]
    if (!Array.isArray(value)) return this.take<T[]>(name, () => null) ?? []
    const items = value.filter(isObject).map(item => new PayloadFields(item))
    const results = items.map(read)
    const isWhole = items.length === value.length && items.every(({ rest }) => rest === null)
    if (isWhole) this.#taken.push(name)
    return results
  }

  /** All that nobody took; null: nothing. */
  get rest(): object | null {
    let rest: Record<string, unknown> | null = null
    for (const name of Object.keys(this.#object)) {
      if (this.#taken.includes(name)) continue
      rest ??= {}
      const value = this.#object[name]
      // A plain assignment would lose a field of this name.
      if (name === '__proto__') Object.defineProperty(rest, name, { value, enumerable: true })
      else rest[name] = value
    }
    return rest && this.#parts ? { ...rest, ...this.#parts } : rest
  }
}

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

export const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'bigint' ? String(value) : null

export const flagOrNull = (value: unknown): boolean | null => toFlag(value) ?? null

const decimalPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

/** A number, or text that is one. */
export function numberOrNull(value: unknown): number | null {
  const number = typeof value === 'string' && decimalPattern.test(value.trim()) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
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
