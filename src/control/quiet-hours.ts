import { type QuietWindow, readQuietWindow } from '../config/index.ts'

/** An instant is in milliseconds since 1970; so is the time on a wall of a zone, as if the zone were UTC. */
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** Of a window that begins once a week, one begins within so many days. */
const daysAhead = 8

/** The quiet hours of an account. */
export class QuietHours {
  readonly text: string
  readonly #windows: readonly QuietWindow[]

  /** @param texts as `gateway.quietHours` has them */
  constructor(texts: readonly string[]) {
    this.text = texts.join(', ')
    this.#windows = texts.map(readQuietWindow)
  }

  /** When they end that hold at an instant; null: none hold. Windows that touch are one. */
  until(now: number): number | null {
    let end = now
    for (const limit = now + daysAhead * dayMs; end < limit; ) {
      const around = this.#windows.flatMap(window => occurrences(window, end, 1))
      const ends = around.filter(({ from, to }) => from <= end && end < to).map(({ to }) => to)
      if (ends.length === 0) break
      end = Math.max(...ends)
    }
    return end > now ? end : null
  }

  /** When they begin next; Infinity: never. */
  begin(now: number): number {
    const begins = this.#windows.flatMap(window => occurrences(window, now, daysAhead).map(({ from }) => from))
    return Math.min(...begins.filter(from => from > now))
  }
}

interface Occurrence {
  from: number
  /** Exclusive. */
  to: number
}

/** The times at which a window begins, from the day before an instant to so many days after it. */
function occurrences({ days, from, to, zone }: QuietWindow, now: number, daysAfter: number): Occurrence[] {
  const today = Math.floor(wallTime(zone, now) / dayMs) * dayMs
  const dates = Array.from({ length: daysAfter + 2 }, (_, i) => today + (i - 1) * dayMs)
  return dates
    .filter(date => days.includes(new Date(date).getUTCDay()))
    .map(date => ({
      from: Math.min(...instantsOf(zone, date + from * minuteMs)),
      to: Math.max(...instantsOf(zone, date + (to <= from ? dayMs : 0) + to * minuteMs)),
    }))
}

/**
 * The instants at which a clock of the zone shows a time: two where it is set back over that time. Of a time that is
 * skipped, the instants at which it would be shown by the clock as it was before and as it is after.
 */
function instantsOf(zone: string, wall: number): number[] {
  const guesses = [-dayMs, dayMs].map(away => wall - (wallTime(zone, wall + away) - (wall + away)))
  const shown = guesses.filter(guess => wallTime(zone, guess) === wall)
  return shown.length > 0 ? shown : guesses
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The time that a clock of the zone shows. */
function wallTime(zone: string, instant: number): number {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('en', { ...fields, timeZone: zone })
  formats.set(zone, format)
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
  const { year, month, day, hour, minute, second } = parts as Record<string, number>
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!) + (((instant % 1000) + 1000) % 1000)
}

const fields = {
  calendar: 'gregory',
  numberingSystem: 'latn',
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const
