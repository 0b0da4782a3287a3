import { type QuietWindow, readQuietWindow } from '../config/index.ts'

/** Instants are milliseconds since 1970. A wall-clock time has the same unit, as if its zone were UTC. */
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** A weekly window begins at least once within this many days. */
const daysAhead = 8

export type QuietHours = ReturnType<typeof quietHoursOf>

/** The quiet hours of an account. @param texts as in `gateway.quietHours` */
export function quietHoursOf(texts: readonly string[]) {
  const windows = texts.map(readQuietWindow)
  const near = (instant: number) => windows.flatMap(window => occurrences(window, instant, 1))

  function joined({ from, to }: Occurrence): Occurrence {
    const touching = [from, to].flatMap(near).filter(one => one.from <= to && from <= one.to)
    const all = { from: Math.min(...touching.map(one => one.from)), to: Math.max(...touching.map(one => one.to)) }
    const isWhole = all.from === from && all.to === to
    return isWhole || to - from > daysAhead * dayMs ? all : joined(all)
  }

  return {
    text: texts.join(', '),
    /** The quiet hours that apply at an instant; null if none do. Adjacent windows count as one. */
    during(now: number): Occurrence | null {
      const first = near(now).find(({ from, to }) => from <= now && now < to)
      return first ? joined(first) : null
    },
    /** Next begin of quiet hours; Infinity if there is none. */
    begin(now: number): number {
      const begins = windows.flatMap(window => occurrences(window, now, daysAhead).map(({ from }) => from))
      return Math.min(...begins.filter(from => from > now))
    },
  }
}

interface Occurrence {
  from: number
  /** Exclusive. */
  to: number
}

/** The occurrences of a window that begin between the day before an instant and `daysAfter` days after it. */
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
 * The instants at which a clock of the zone shows a time: two if the clock is set back over it. For a skipped time, the
 * instants by the offsets before and after the change.
 */
function instantsOf(zone: string, wall: number): number[] {
  const guesses = [-dayMs, dayMs].map(away => wall - (wallTime(zone, wall + away) - (wall + away)))
  const shown = guesses.filter(guess => wallTime(zone, guess) === wall)
  return shown.length > 0 ? shown : guesses
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The wall-clock time of the zone. */
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
