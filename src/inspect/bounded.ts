import { Buffer } from 'node:buffer'
import { cut } from '../words.ts'

/** Longest text, in characters, and most bytes of a value. */
const longestText = 16_384
/** Longest key of a map. */
const longestName = 1024
/** Most characters, bytes and entries of all lists and maps of a record. */
const mostNested = 65_536

/**
 * A copy of a decoded record that takes little memory, whatever the record holds: texts and bytes are cut, and lists and maps
 * lose what is too much. A record's own fields come before what is nested in them.
 * @returns the copy, and its size in characters
 */
export function bounded<T extends object>(record: T): { value: T; size: number } {
  let size = 0
  let nestedLeft = mostNested

  function copyOf(value: unknown, isNested: boolean): unknown {
    const most = isNested ? Math.min(longestText, Math.max(0, nestedLeft)) : longestText
    if (typeof value === 'string') return spend(cut(value, most), isNested)
    if (Buffer.isBuffer(value)) return spend(Buffer.from(value.subarray(0, most)), isNested)
    if (Array.isArray(value)) return fitting(value).map(one => copyOf(one, true))
    return isContainer(value) ? fieldsOf(value as object, true) : value
  }

  function fieldsOf(fields: object, isNested: boolean): object {
    const given = Object.entries(fields)
    const known = (isNested ? fitting(given) : given).map(([name, value]) => [nameOf(name, isNested), value] as const)
    const copies = new Map<string, unknown>(known.map(([name]) => [name, null])) // keeps the order
    for (const [name, value] of known) if (!isContainer(value)) copies.set(name, copyOf(value, isNested))
    for (const [name, value] of known) if (isContainer(value)) copies.set(name, copyOf(value, true))
    return Object.fromEntries(copies)
  }

  const nameOf = (name: string, isNested: boolean) => spend(cut(name, longestName), isNested)

  /** The first entries for which there is room. */
  function fitting<E>(entries: readonly E[]): readonly E[] {
    const some = entries.slice(0, Math.max(0, nestedLeft))
    size += some.length
    nestedLeft -= some.length
    return some
  }

  function spend<P extends string | Buffer>(part: P, isNested: boolean): P {
    size += part.length
    if (isNested) nestedLeft -= part.length
    return part
  }

  const value = fieldsOf(record, false) as T
  return { value, size }
}

const isContainer = (value: unknown): boolean => typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
