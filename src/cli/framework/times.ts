import { skewMs } from '../../clock.ts'
import { latestTime, timeOf } from '../../time.ts'
import { type Flag, UsageError } from './command.ts'

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 24 * 3_600_000 }

/** A time in the past, as milliseconds since 1970. */
export const sinceFlag = (help: string): Flag<number> =>
  timeFlag(help, {
    direction: -1,
    span: 'until now',
    fits: time => time >= 0 && time <= Date.now() + skewMs,
    example: '2026-11-22T10:00:00Z, in the past',
  })

/** A time in the future, as milliseconds since 1970. @param most the longest duration until then */
export const untilFlag = (help: string, most?: string): Flag<number> =>
  timeFlag(help, {
    direction: 1,
    span: 'from now',
    fits: time => time > Date.now() && time <= (most === undefined ? latestTime : Date.now() + durationIn(most)),
    example: `2036-11-22T10:00:00Z, in the future${most === undefined ? '' : `; at most ${most} from now`}`,
  })

/** How long, in milliseconds. */
export function durationFlag(help: string, most: string): Flag<number> {
  const read = (given: string) => {
    const ms = /^\d+$/.test(given) ? Number(given) : durationIn(given)
    if (ms <= durationIn(most)) return ms
    throw new UsageError(`expected a duration such as 250ms, 10s or 5m, or milliseconds; at most ${most}`)
  }
  return { value: 'DURATION', help: `${help} Such as 250ms, 10s or 5m; a plain number is milliseconds.`, read }
}

interface Side {
  /** Of a duration, from now. */
  direction: 1 | -1
  span: string
  fits: (time: number) => boolean
  example: string
}

function timeFlag(help: string, { direction, span, fits, example }: Side): Flag<number> {
  const read = (given: string) => {
    const time = momentIn(given) ?? Date.now() + direction * durationIn(given)
    if (fits(time)) return time
    throw new UsageError(
      `expected a duration such as 30m, 12h or 7d, milliseconds since 1970, or a date such as ${example}`,
    )
  }
  return { value: 'TIME', help: `${help} A duration ${span} (30m, 12h, 7d), a date, or milliseconds since 1970.`, read }
}

/** A date or milliseconds since 1970; NaN if it cannot be meant, and null if the text is neither. */
function momentIn(given: string): number | null {
  if (/^\d{5,16}$/.test(given)) return timeOf(Number(given)) ?? Number.NaN
  const [day] = /^\d{4}-\d\d-\d\d/.exec(given) ?? []
  if (day === undefined) return null
  const midnight = Date.parse(day)
  // Date.parse takes 30 February for 2 March
  const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day)
  return exists ? Date.parse(given) : Number.NaN
}

/** NaN if the text is no duration. */
function durationIn(given: string): number {
  const [, amount, unit = ''] = /^(\d{1,9})(ms|[smhd])$/.exec(given) ?? []
  return Number(amount) * (units[unit] ?? Number.NaN)
}
