import { Buffer } from 'node:buffer'
import type { BusRecord, RecordHeaders } from './port.ts'
import { headerPairs } from './record-headers.ts'

/** Sizes of records in Kafka's record format v2 (KIP-98). */

export type Bytes = Buffer | string

/** The parts of a record that are written. */
export interface Content {
  key?: Bytes | null
  value: Bytes | null
  headers?: RecordHeaders
}

/**
 * Upper bound of the bytes that a record takes in a batch. Its length field and its offset delta vary in size with its
 * position.
 */
export function sizeInBatch(record: Content): number {
  return longestVarint + recordSize(record, largestIndex)
}

/** Bytes of a record in its batch, without the length field in front. @param index its position in the batch */
export function recordSize({ key = null, value, headers }: Content, index = 0): number {
  const pairs = headerPairs(headers)
  let size = 2 + sizeOfVarint(index) + sizeOfBytes(key) + sizeOfBytes(value) + sizeOfVarint(pairs.length)
  for (const pair of pairs) size += sizeOfBytes(pair[0]) + sizeOfBytes(pair[1])
  return size
}

/** Bytes of the key and the value of a record that was read. */
export function contentBytesOf(record: BusRecord): number {
  return record.contentBytes ?? (record.key?.length ?? 0) + (record.value?.length ?? 0)
}

export const lengthOf = (value: Bytes) => (typeof value === 'string' ? Buffer.byteLength(value) : value.length)

function sizeOfBytes(value: Bytes | null): number {
  if (value === null) return 1 // null has the length -1
  const length = lengthOf(value)
  return sizeOfVarint(length) + length
}

const longestVarint = 5
const largestIndex = 2 ** 20 - 1

/** Bytes of the zigzag varint of a number >= 0. */
export function sizeOfVarint(value: number): number {
  return value < 2 ** 6 ? 1 : value < 2 ** 13 ? 2 : value < 2 ** 20 ? 3 : value < 2 ** 27 ? 4 : 5
}
