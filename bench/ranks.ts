export interface Ranks {
  p50: number
  p99: number
  max: number
}

/** Computes percentiles; null without values. */
export function ranks(values: readonly number[]): Ranks | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const rank = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
  return { p50: rank(0.5), p99: rank(0.99), max: rank(1) }
}
