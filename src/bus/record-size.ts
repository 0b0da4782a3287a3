import { Buffer } from 'node:buffer'
import type { RecordHeaders } from './port.ts'
import { headerPairs, noHeaders } from './record-headers.ts'

/** Sizes of records in Kafka's record format v2 (KIP-98). */

export type Bytes = Buffer | string

/** Content is what is written of a record. */
export interface Content {
  key?: Bytes | null
  value: Bytes | null
  headers?: RecordHeaders
}

/**
 * The most bytes that a record takes of its batch: its own bytes, and its length and place, which vary with its
 * neighbours.
 */
export function sizeInBatch(record: Content): number {
  return longestVarint + recordSize(record, largestIndex)
}

/** Bytes of a record in its batch, without the length in front of it. @param index its place there */
export function recordSize({ key = null, value, headers }: Content, index = 0): number {
  const pairs = pairsOf(headers)
  const own = 2 + sizeOfVarint(index) + sizeOfBytes(key) + sizeOfBytes(value) + sizeOfVarint(pairs.length)
  return pairs.length === 0 ? own : own + sizeOfPairs(pairs)
}

/** A header's name may stand for several. */
export const pairsOf = (headers = noHeaders): readonly [string, Bytes][] => headerPairs(headers)

function sizeOfPairs(pairs: readonly [string, Bytes][]): number {
  let size = 0
  for (const pair of pairs) size += sizeOfBytes(pair[0]) + sizeOfBytes(pair[1])
  return size
}

export const lengthOf = (value: Bytes) => (typeof value === 'string' ? Buffer.byteLength(value) : value.length)

function sizeOfBytes(value: Bytes | null): number {
  if (value === null) return 1 // the length -1
  const length = lengthOf(value)
  return sizeOfVarint(length) + length
}

const longestVarint = 5
const largestIndex = 2 ** 20 - 1

/** Bytes of a number that is not negative, which zigzag doubles. */
export function sizeOfVarint(value: number): number {
  return value < 2 ** 6 ? 1 : value < 2 ** 13 ? 2 : value < 2 ** 20 ? 3 : value < 2 ** 27 ? 4 : 5
}
