const datePattern = String.raw`(?<year>\d{4})(?<dash>-?)(?:(?<month>\d\d)\k<dash>(?<day>\d\d)|(?<ordinal>\d{3})|W(?<week>\d\d)\k<dash>(?<weekday>[1-7]))`
const timePattern = String.raw`(?<hour>\d\d)(?:(?<colon>:?)(?<minute>\d\d)(?:\k<colon>(?<second>\d\d))?)?(?:[.,](?<fraction>\d+))?`
const offsetPattern = String.raw`Z|(?<sign>[+\-\u2212])(?<offsetHour>\d\d)(?::?(?<offsetMinute>\d\d))?`
const dateTimePattern = new RegExp(`^${datePattern}[T ]${timePattern}(?:${offsetPattern})$`, 'i')

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

type Parts = Readonly<Record<string, string | undefined>>

/**
 * The instant that an ISO 8601 date-time names, in milliseconds since 1970 (what is shorter is cut off). Calendar,
 * ordinal and week dates are read, in extended and basic form, with a time to the hour, minute, second or a fraction of
 * it, a space for the T, 24:00 and a leap second.
 * null: it is none, or has no offset from UTC, so that nobody can tell which instant is meant.
 */
export function instantOf(text: string): number | null {
  const parts: Parts | undefined = dateTimePattern.exec(text.trim())?.groups
  if (parts === undefined) return null
  const date = dateOf(parts)
  const time = timeOf(parts)
  const offset = offsetOf(parts)
  return date === null || time === null || offset === null ? null : date + time - offset
}

function dateOf({ year, month, day: dayOfMonth, ordinal, week, weekday }: Parts): number | null {
  if (ordinal !== undefined) return dayWithin(Number(year), Number(ordinal))
  if (week !== undefined) return weekDate(Number(year), Number(week), Number(weekday))
  const date = utc(Number(year), Number(month), Number(dayOfMonth))
  return new Date(date).getUTCMonth() + 1 === Number(month) ? date : null
}

function dayWithin(year: number, ordinal: number): number | null {
  const date = utc(year, 1, ordinal)
  return new Date(date).getUTCFullYear() === year ? date : null
}

/** The week with 4 January is the first one of its year. */
function weekDate(year: number, week: number, weekday: number): number | null {
  const first = mondayBefore(utc(year, 1, 4))
  const weeks = (mondayBefore(utc(year + 1, 1, 4)) - first) / (7 * day)
  return week >= 1 && week <= weeks ? first + ((week - 1) * 7 + weekday - 1) * day : null
}

const mondayBefore = (date: number): number => date - ((new Date(date).getUTCDay() + 6) % 7) * day

/** Date.UTC takes the years 0 to 99 for those of the last century. */
const utc = (year: number, month: number, date: number): number => new Date(0).setUTCFullYear(year, month - 1, date)

function timeOf({ hour: hours, minute: minutes, second: seconds, fraction }: Parts): number | null {
  const [h, m, s] = [Number(hours), Number(minutes ?? 0), Number(seconds ?? 0)]
  const least = seconds !== undefined ? second : minutes !== undefined ? minute : hour
  const billionths = Number((fraction ?? '').slice(0, 9).padEnd(9, '0'))
  const time = h * hour + m * minute + s * second + Math.floor((billionths * least) / 1e9)
  return m <= 59 && s <= 60 && (h <= 23 || time === day) ? time : null
}

function offsetOf({ sign, offsetHour, offsetMinute }: Parts): number | null {
  if (sign === undefined) return 0
  const [h, m] = [Number(offsetHour), Number(offsetMinute ?? 0)]
  if (h > 23 || m > 59) return null
  return (h * hour + m * minute) * (sign === '+' ? 1 : -1)
}
