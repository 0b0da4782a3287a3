import { randomInt } from 'node:crypto'

/** Random per process, so that nobody can choose names and ids that collide. */
const factor = 2 * randomInt(2 ** 31) + 1
const seed = randomInt(2 ** 32)

/** 32 bits of a text; 0 stands for none. */
export function hashOf(text: string | null): number {
  if (text === null) return 0
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0 || 1
}

/** Splits an id into words without the bigints that shifts would allocate. */
const whole = new BigUint64Array(1)
const words = new Uint32Array(whole.buffer)

/** @param number an offset, or a hash */
export function hashOfId(id: bigint, number: number): number {
  whole[0] = id
  return hashOfWords(words[0]!, words[1]!, number)
}

/** @param low lower half of an id */
export function hashOfWords(low: number, high: number, number: number): number {
  let hash = Math.imul(low, factor) ^ Math.imul(high, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 16) ^ number, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
