import { html } from '/lit-html.js'
import { splitAtCommands } from './commands.js'

const whole = new Intl.NumberFormat('en')
const oneDigit = new Intl.NumberFormat('en', { maximumFractionDigits: 1, minimumFractionDigits: 1 })
const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  ...{ year: 'numeric', month: 'short', day: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
})
const timeOfDay = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** @param {number | null} number */
export const count = number => (number === null ? '–' : whole.format(Math.round(number)))

/** A rate per second with significant digits; – if unknown. @param {number | null} number */
export const perSecond = number => {
  if (number === null) return '–'
  return number > 0 && number < 10 ? oneDigit.format(number) : whole.format(Math.round(number))
}

/** @param {number} ratio */
export const percent = ratio => `${Math.round(ratio * 100)} %`

/** Latest instant that a Date holds. */
const latestInstant = 8.64e15

/** @param {number} ms since 1970 */
export const clockTime = ms => timeOfDay.format(ms)

/** Of any number: records can hold one that is no instant. @param {number | null} ms since 1970 */
export const dateTime = ms =>
  ms !== null && ms >= 0 && ms <= latestInstant ? dayAndTime.format(ms) : 'at an unknown time'

/** A duration in its two largest units; – if unknown. @param {number} ms */
export function span(ms) {
  if (!Number.isFinite(ms)) return '–'
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 1) return `${Math.round(Math.max(0, ms))} ms`
  if (seconds < 60) return `${oneDigit.format(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days ${hours % 24} h`
}

const instant = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/

/** Renders ISO 8601 times in local time, and commands with a copy button. @param {string} text */
export const withTimes = text =>
  splitAtCommands(visible(text)).map((part, i) => (i % 2 === 1 ? copyable(part) : timesIn(part)))

/** @param {string} text */
const timesIn = text =>
  text
    .split(instant)
    .map(part =>
      instant.test(part) ? html`<time datetime=${part} title=${part}>${dateTime(Date.parse(part))}</time>` : part,
    )

/** Flags that lead command lines to the page's brokers; null if nothing does. @type {string | null} */
let commandFlags = ''

/** @param {string | null} flags */
export const endCommandsWith = flags => {
  commandFlags = flags
}

/** A command line with a copy button, or without one where it would not work. @param {string} command */
export const copyable = command => {
  if (commandFlags === null) return html`<code>${command}</code>`
  const line = commandFlags === '' ? command : `${command} ${commandFlags}`
  return html`<span class="copy"><code>${line}</code><button type="button" title="Copy this command" @click=${() => navigator.clipboard.writeText(line)}>Copy</button></span>`
}

/**
 * Escapes control characters in foreign text. Characters that change the text direction could make one text look like another.
 * @param {string} text
 */
export const visible = text =>
  text.replaceAll(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** @typedef {{ by: string, text: string, back?: string, account?: string }} Question */

/**
 * The address of a search. It is a fragment, so that it can be bookmarked and is never sent to a server.
 * @param {Question} question
 */
export function linkTo(question) {
  const given = Object.entries(question).filter(([, value]) => value)
  return `#${new URLSearchParams(given)}`
}

/** The search in an address; null for the current state. @param {string} hash @returns {Question | null} */
export function questionIn(hash) {
  const given = new URLSearchParams(hash.slice(1))
  const by = given.get('by')
  const text = given.get('text')
  if (!by || !text) return null
  return { by, text, back: given.get('back') ?? '', account: given.get('account') ?? '' }
}
