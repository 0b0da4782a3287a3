import { Buffer } from 'node:buffer'
import { type Bytes, type Content, lengthOf, pairsOf, recordSize, sizeOfVarint } from '../record-size.ts'

/**
 * Messages as the records of one batch, in Kafka's record format v2 (KIP-98), all with the batch's own timestamp.
 * One buffer holds them all.
 * @param frameBytes room that is left in front of them
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
    buffer[at++] = 0 // attributes: none are defined
    buffer[at++] = 0 // milliseconds after the batch's timestamp
    at = putVarint(buffer, at, i) // offset in the batch
    at = putBytes(buffer, at, key ?? null)
    at = putBytes(buffer, at, value)
    const pairs = pairsOf(headers)
    at = putVarint(buffer, at, pairs.length)
    for (const [name, content] of pairs) at = putBytes(buffer, putBytes(buffer, at, name), content)
  }
  return buffer
}

/** @returns the place behind it @param value -1, or what is not negative */
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
