import { Buffer } from 'node:buffer'
import type { OutgoingRecord } from '../bus/port.ts'
import { sizeInBatch } from '../bus/record-size.ts'

/** Records of so many bytes have no shorter version: every topic that busgate can work with takes them. */
const surelyFits = 1024
/** Longer texts, in bytes, are too long for a record that every topic takes. */
const mostBytes = 256
/** Characters that take no more bytes than that. */
const cutAt = mostBytes / 4

/** A record, and what is written where its topic does not take it. */
export function orShorter(record: OutgoingRecord, shorter: () => OutgoingRecord): OutgoingRecord {
  if (sizeInBatch(record) > surelyFits) record.shorter = shorter
  return record
}

/**
 * The record without what is long in it, as every topic takes it. Its `error` tells what is missing.
 * @param needed texts that are cut; other fields become null, lists empty
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
