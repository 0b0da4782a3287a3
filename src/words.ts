import { Buffer } from 'node:buffer'

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

/** A whole number with its thousands apart, such as `40,000`. */
export const grouped = (number: number): string => number.toLocaleString('en')

/** Adds a period unless a mark ends the words. */
export const ended = (words: string): string => `${words}${/[.!?…]$/.test(words) ? '' : '.'}`

/** Words as a sentence: with a capital letter, and a mark at the end. */
export const sentence = (words: string): string => ended(`${words.charAt(0).toUpperCase()}${words.slice(1)}`)

/** A duration in its largest whole unit, such as `7 days`. */
export function span(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever'
  const unit = units.find(([length]) => ms >= length)
  return unit ? count(Math.round(ms / unit[0]), unit[1]) : `${Math.round(ms)} ms`
}

/** Latest instant that a Date holds, milliseconds since 1970. */
const latestInstant = 8.64e15

/** Whether a number from outside is an instant since 1970, in milliseconds. */
export const isInstant = (ms: number): boolean => ms >= 0 && ms <= latestInstant

/**
 * An instant in ISO 8601. Records can hold any number: one that is no instant since 1970 gives `at an unknown time`.
 * @param preposition what precedes the instant, such as `since`
 */
export function timeText(ms: number, preposition = ''): string {
  if (!isInstant(ms)) return `${preposition || 'at'} an unknown time`
  return `${preposition} ${new Date(ms).toISOString()}`.trimStart()
}

/** An instant at which something ends. One beyond all dates never comes. */
export function endText(ms: number): string {
  return ms > latestInstant ? 'never' : timeText(ms)
}

/** The beginning of a text from outside, in memory of its own: a slice would keep the whole text. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${Buffer.from(text.slice(0, most)).toString()}…`
}
