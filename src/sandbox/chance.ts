import type { Span } from './settings.ts'

/**
 * The source of all apparent randomness: a number in [0, 1) derived from the decision ("code") and its subject ("42"). The
 * behaviour of a message thus depends neither on repetitions nor on the order of requests.
 */
export function chance(what: string, of: string | number | bigint | undefined): number {
  return scramble(fnv1a(fnv1a(0x811c9dc5, what), String(of))) / 0x1_0000_0000
}

export function pickWithin(span: Span, chance: number): number {
  return span.min + (span.max - span.min) * chance
}

function fnv1a(start: number, text: string): number {
  let hash = start
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}

/** The finaliser of MurmurHash3, so that similar names get unrelated numbers. */
function scramble(hash: number): number {
  let h = hash ^ (hash >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
