const dayMs = 24 * 3_600_000
const units = [
  [dayMs, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
] as const

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** A duration in its largest whole unit, such as `7 days`. */
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever'
  const unit = units.find(([length]) => ms >= length)
  return unit ? count(Math.round(ms / unit[0]), unit[1]) : `${Math.round(ms)} ms`
}
