import { Buffer } from 'node:buffer'

/**
 * The partition of a key, chosen as Java's default partitioner and kafkajs do (murmur2, seed 0x9747b28c), so that all records
 * of an id share a partition whichever client wrote them. The implementation of kafkajs works on 64-bit objects and is 100
 * times slower.
 */
export function partitionOf(key: Buffer | string, partitions: number): number {
  return keyHash(key) % partitions
}

/** The number whose remainder is the partition: 31 bits. */
export function keyHash(key: Buffer | string): number {
  return murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff
}

const m = 0x5bd1e995

function murmur2(data: Buffer): number {
  const { length } = data
  let h = 0x9747b28c ^ length
  const whole = length & ~3
  for (let i = 0; i < whole; i += 4) {
    let k = Math.imul(data.readInt32LE(i), m)
    k ^= k >>> 24
    h = Math.imul(h, m) ^ Math.imul(k, m)
  }
  const rest = length - whole
  if (rest === 3) h ^= data[whole + 2]! << 16
  if (rest >= 2) h ^= data[whole + 1]! << 8
  if (rest >= 1) h = Math.imul(h ^ data[whole]!, m)
  h ^= h >>> 13
  h = Math.imul(h, m)
  return h ^ (h >>> 15)
}
