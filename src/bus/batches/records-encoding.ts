import { Buffer } from 'node:buffer'
import { headerPairs } from '../record-headers.ts'
import { type Bytes, type Content, lengthOf, recordSize, sizeOfVarint } from '../record-size.ts'

/**
 * Encodes records for one batch in Kafka's record format v2 (KIP-98), all with the batch's timestamp, into one buffer.
 * @param frameBytes bytes left free in front of them
 */
export function encodeRecords(messages: readonly Content[], frameBytes = 0): Buffer {
  const sizes = new Uint32Array(messages.length)
  let total = frameBytes
  for (let i = 0; i < messages.length; i++) {
    sizes[i] = recordSize(messages[i]!, i)
    total += sizeOfVarint(sizes[i]!) + sizes[i]!
  }
  const buffer = Buffer.allocUnsafe(total)
  let at = frameBytes
  for (let i = 0; i < messages.length; i++) {
    const { key, value, headers } = messages[i]!
    at = putVarint(buffer, at, sizes[i]!)
    buffer[at++] = 0 // attributes: unused
    buffer[at++] = 0 // timestamp delta
    at = putVarint(buffer, at, i) // offset delta
    at = putBytes(buffer, at, key ?? null)
    at = putBytes(buffer, at, value)
    const pairs = headerPairs(headers)
    at = putVarint(buffer, at, pairs.length)
    for (const [name, content] of pairs) at = putBytes(buffer, putBytes(buffer, at, name), content)
  }
  return buffer
}

/** @param value -1 or more @returns the position after it */
function putVarint(buffer: Buffer, at: number, value: number): number {
  let next = at
  let rest = value < 0 ? 1 : value * 2
  while (rest > 0x7f) {
    buffer[next++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  buffer[next++] = rest
  return next
}

function putBytes(buffer: Buffer, at: number, value: Bytes | null): number {
  if (value === null) return putVarint(buffer, at, -1)
  const next = putVarint(buffer, at, lengthOf(value))
  return next + (typeof value === 'string' ? buffer.write(value, next) : value.copy(buffer, next))
}
