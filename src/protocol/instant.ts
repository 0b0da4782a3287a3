/** A date-time of ISO 8601, extended or basic: a calendar, ordinal or week date, and a time with an offset from UTC. */
const forms = [
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[T ](?<time>[\d:.]+)(?<offset>Z|[+-][\d:]+)$/,
  /^(?<year>\d{4})(?<month>\d\d)(?<day>\d\d)T(?<time>[\d.]+)(?<offset>Z|[+-]\d+)$/,
  /^(?<year>\d{4})-?(?<ordinal>\d{3})T(?<time>[\d:.]+)(?<offset>Z|[+-][\d:]+)$/,
  /^(?<year>\d{4})-?W(?<week>\d\d)-?(?<weekday>[1-7])T(?<time>[\d:.]+)(?<offset>Z|[+-][\d:]+)$/,
]

const timeOfDay = /^(?<hours>\d\d)(?::?(?<minutes>\d\d)(?::?(?<seconds>\d\d))?)?(?<fraction>\.\d+)?$/
const offsetFromUtc = /^(?<sign>[+-])(?<hours>\d\d)(?::?(?<minutes>\d\d))?$/

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

type Parts = Record<string, string | undefined>

/**
 * Parses an ISO 8601 date-time with an offset from UTC into milliseconds since 1970, truncated to milliseconds. null if the text
 * is not one, or has no offset.
 */
export function instantOf(text: string): number | null {
  const plain = text.trim().toUpperCase().replace('\u2212', '-').replace(',', '.')
  const parts = forms.map(form => form.exec(plain)?.groups).find(groups => groups !== undefined)
  if (!parts) return null
  const [day, time, offset] = [dayOf(parts), timeOf(parts.time!), offsetOf(parts.offset!)]
  return day === null || time === null || offset === null ? null : day + time - offset
}

/** The date at midnight UTC. */
function dayOf({ year, month, day, ordinal, week, weekday }: Parts): number | null {
  const y = Number(year)
  if (ordinal !== undefined) {
    const date = midnight(y, 0, Number(ordinal))
    return Number(ordinal) >= 1 && new Date(date).getUTCFullYear() === y ? date : null
  }
  if (week !== undefined) {
    const firstMonday = 4 - ((new Date(midnight(y, 0, 4)).getUTCDay() + 6) % 7) // week 1 has 4 January
    const date = midnight(y, 0, firstMonday + (Number(week) - 1) * 7 + Number(weekday) - 1)
    const thursday = new Date(date + (4 - Number(weekday)) * dayMs)
    return Number(week) >= 1 && thursday.getUTCFullYear() === y ? date : null
  }
  const date = midnight(y, Number(month) - 1, Number(day))
  const isDay = new Date(date).getUTCMonth() === Number(month) - 1 && new Date(date).getUTCDate() === Number(day)
  return isDay ? date : null
}

/** Date.UTC takes the years 0 to 99 for 1900 to 1999. */
const midnight = (year: number, month: number, day: number) => new Date(0).setUTCFullYear(year, month, day)

/** Milliseconds since midnight. 24:00 is the end of the day; a leap second is the next minute's first one. */
function timeOf(text: string): number | null {
  const { hours, minutes, seconds, fraction } = timeOfDay.exec(text)?.groups ?? {}
  if (hours === undefined) return null
  const [h, m, s] = [Number(hours), Number(minutes ?? 0), Number(seconds ?? 0)]
  const unit = seconds !== undefined ? 1000 : minutes !== undefined ? minuteMs : hourMs
  const ms = h * hourMs + m * minuteMs + s * 1000 + Math.floor(Number(`0${fraction ?? ''}`) * unit + 1e-9)
  return m < 60 && s <= 60 && ms <= dayMs + 1000 && (h < 24 || ms === dayMs) ? ms : null
}

function offsetOf(text: string): number | null {
  if (text === 'Z') return 0
  const { sign, hours, minutes } = offsetFromUtc.exec(text)?.groups ?? {}
  if (sign === undefined || Number(hours) > 23 || Number(minutes ?? 0) > 59) return null
  return (sign === '-' ? -1 : 1) * (Number(hours) * hourMs + Number(minutes ?? 0) * minuteMs)
}
