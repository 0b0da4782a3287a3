import { Buffer } from 'node:buffer'
import type { OutgoingRecord } from '../bus/port.ts'
import { sizeInBatch } from '../bus/record-size.ts'

/** Records up to this size need no shorter version: they fit every topic that busgate accepts. */
const surelyFits = 1024
/** Longest text, in bytes, in a record that must fit every topic. */
const mostBytes = 256
/** Number of characters that fit in `mostBytes` of UTF-8. */
const cutAt = mostBytes / 4

/** Adds a shorter version to the record, in case its topic refuses the full one. */
export function withShorter(record: OutgoingRecord, shorter: () => OutgoingRecord): OutgoingRecord {
  if (sizeInBatch(record) > surelyFits) record.shorter = shorter
  return record
}

/**
 * A version that fits every topic. Its `error` names the shortened fields.
 * @param needed texts to cut; other long fields become null or an empty list
 */
export function shortened<T extends { error: string | null }>(whole: T, needed: readonly (keyof T & string)[]): T {
  const long = (Object.keys(whole) as (keyof T & string)[]).filter(name => isLong(whole[name]))
  if (long.length === 0) return whole
  const shorter = long.map(name => {
    const value = whole[name]
    if (needed.includes(name)) return [name, String(value).slice(0, cutAt)]
    return [name, Array.isArray(value) ? [] : null]
  })
  const record: T = { ...whole, ...Object.fromEntries(shorter) }
  const note = `too large for the topic, so left out or cut: ${long.join(', ')}`
  return { ...record, error: record.error === null ? note : `${record.error} (${note})` }
}

export function isLong(value: unknown): boolean {
  if (value === null || typeof value === 'bigint') return false
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value)) > mostBytes
}
