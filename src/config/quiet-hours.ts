/** Quiet hours that begin on certain days of the week. */
export interface QuietWindow {
  /** Days on which the window begins; 0 is Sunday. */
  days: readonly number[]
  /** Minutes of the day. */
  from: number
  /** Exclusive, in minutes from the beginning of the same day; after `from`. */
  to: number
  /** IANA name of a time zone. */
  zone: string
}

export const quietHoursGrammar =
  '[DAYS] HH:MM-HH:MM ZONE, such as 21:00-09:00 Europe/Kyiv or Sat-Sun 00:00-24:00 Europe/Kyiv'

const dayMinutes = 24 * 60
const weekMinutes = 7 * dayMinutes

const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const time = '([01]\\d|2[0-3]):([0-5]\\d)'
const pattern = new RegExp(`^(?:([A-Z][a-z]{2})(?:-([A-Z][a-z]{2}))? )?${time}-(?:${time}|(24):(00)) (\\S+)$`)

/** The grammar for JSON Schema, which cannot know the time zones. */
export const quietWindowPattern = pattern.source
  .replaceAll('[A-Z][a-z]{2}', dayNames.join('|'))
  .replace('\\S+', '(UTC|[A-Za-z][A-Za-z0-9_+-]*/[A-Za-z0-9_+/-]+)')

/** @throws Error that explains the problem without the value */
export function readQuietWindow(text: string): QuietWindow {
  const [, first, last, fromHour, fromMinute, toHour, toMinute, hour24, minute24, zone] = pattern.exec(text) ?? []
  if (zone === undefined) throw new Error(`expected ${quietHoursGrammar}`)
  if (!isZone(zone)) throw new Error('needs a time zone of the IANA list with a slash, such as Europe/Kyiv, or UTC')
  const from = 60 * Number(fromHour) + Number(fromMinute)
  const to = 60 * Number(toHour ?? hour24) + Number(toMinute ?? minute24)
  if (from === to) throw new Error('begins and ends at the same time: for whole days write the days and 00:00-24:00')
  return { days: daysOf(first, last ?? first), from, to: to < from ? to + dayMinutes : to, zone }
}

/** The longest time without a pause that windows of one zone are quiet, in minutes; Infinity if it never ends. */
export function longestQuietMinutes(texts: readonly string[]): number {
  const zones = Map.groupBy(texts.map(readQuietWindow), ({ zone }) => zone)
  return Math.max(0, ...[...zones.values()].map(longestRun))
}

function longestRun(windows: readonly QuietWindow[]): number {
  const quiet = new Uint8Array(weekMinutes)
  for (const { days, from, to } of windows)
    for (const day of days)
      for (let minute = from; minute < to; minute++) quiet[(day * dayMinutes + minute) % weekMinutes] = 1
  const loud = quiet.indexOf(0)
  if (loud < 0) return Number.POSITIVE_INFINITY
  const week = [...quiet.subarray(loud), ...quiet.subarray(0, loud)].join('')
  return Math.max(...week.split('0').map(run => run.length))
}

function daysOf(first: string | undefined, last: string | undefined): number[] {
  if (first === undefined || last === undefined) return [...dayNames.keys()]
  const [from, to] = [dayNames.indexOf(first), dayNames.indexOf(last)]
  if (from < 0 || to < 0) throw new Error('has an unknown day: use Mon, Tue, Wed, Thu, Fri, Sat, Sun')
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, i) => (from + i) % 7)
}

/**
 * Rejects offsets such as +02:00, which have no summer time, and short names, which mean another zone to many: BST is Bangladesh
 * as well as British summer.
 */
function isZone(name: string): boolean {
  try {
    return (
      /^(?:UTC$|[A-Za-z]\S*\/)/.test(name) &&
      new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions() !== null
    )
  } catch {
    return false
  }
}
