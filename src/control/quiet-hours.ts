import { type QuietWindow, readQuietWindow } from '../config/index.ts'
import { memoized } from '../memoized.ts'

/** Instants are milliseconds since 1970. A wall-clock time has the same unit, as if its zone were UTC. */
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
/** Windows are weekly, and quiet hours last less than a week. */
const daysAround = 8

export type QuietHours = ReturnType<typeof quietHoursOf>

/** The quiet hours of an account. @param texts as in `gateway.quietHours` */
export function quietHoursOf(texts: readonly string[]) {
  const windows = texts.map(readQuietWindow)
  const around = (instant: number) => windows.flatMap(window => occurrences(window, instant))

  return {
    text: texts.join(', '),
    /** The quiet hours that apply at an instant; null if none do. Adjacent windows count as one. */
    during: (now: number): Occurrence | null =>
      joined(around(now)).find(({ from, to }) => from <= now && now < to) ?? null,
    /** Next begin of quiet hours; Infinity if there is none. */
    begin: (now: number): number => Math.min(...around(now).flatMap(({ from }) => (from > now ? from : []))),
  }
}

interface Occurrence {
  from: number
  /** Exclusive. */
  to: number
}

/** Those that touch or overlap, as one. */
function joined(occurrences: readonly Occurrence[]): Occurrence[] {
  const all: Occurrence[] = []
  for (const { from, to } of occurrences.toSorted((a, b) => a.from - b.from)) {
    const last = all.at(-1)
    if (last && from <= last.to) last.to = Math.max(last.to, to)
    else all.push({ from, to })
  }
  return all
}

/** The occurrences of a window that begin in the days around an instant. */
function occurrences({ days, from, to, zone }: QuietWindow, now: number): Occurrence[] {
  const today = Math.floor(wallTime(zone, now) / dayMs)
  const dates = Array.from({ length: 2 * daysAround }, (_, i) => (today - daysAround + i) * dayMs)
  return dates
    .filter(date => days.includes(new Date(date).getUTCDay()))
    .map(date => ({
      from: Math.min(...instantsOf(zone, date + from * minuteMs)),
      to: Math.max(...instantsOf(zone, date + to * minuteMs)),
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

const formatOf = memoized((timeZone: string) => new Intl.DateTimeFormat('en', { ...fields, timeZone }))

/** The wall-clock time of the zone, in whole minutes. */
function wallTime(zone: string, instant: number): number {
  const parts = formatOf(zone).formatToParts(instant)
  const { year, month, day, hour, minute } = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]))
  return Date.UTC(year!, month! - 1, day!, hour!, minute!)
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
} as const
