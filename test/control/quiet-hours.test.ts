import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quietHoursOf } from '../../src/control/quiet-hours.ts'

const text = (ms: number | null) => (ms === null ? null : Number.isFinite(ms) ? new Date(ms).toISOString() : 'never')
const during = (windows: string[], at: string) => quietHoursOf(windows).during(Date.parse(at))
const untilOf = (windows: string[], at: string) => text(during(windows, at)?.to ?? null)
const sinceOf = (windows: string[], at: string) => text(during(windows, at)?.from ?? null)
const beginOf = (windows: string[], at: string) => text(quietHoursOf(windows).begin(Date.parse(at)))

const kyivNight = ['21:00-09:00 Europe/Kyiv']

describe('quiet hours are in force', () => {
  test.each([
    ['not before they begin', kyivNight, '2026-07-01T17:59:59.999Z', null],
    ['from the first moment', kyivNight, '2026-07-01T18:00:00Z', '2026-07-02T06:00:00.000Z'],
    ['over midnight', kyivNight, '2026-07-02T02:30:00Z', '2026-07-02T06:00:00.000Z'],
    ['not at their end', kyivNight, '2026-07-02T06:00:00Z', null],
    ['within a day', ['12:00-13:30 Europe/Kyiv'], '2026-07-01T10:00:00Z', '2026-07-01T10:30:00.000Z'],
    ['until midnight', ['22:00-24:00 Europe/Kyiv'], '2026-07-01T20:00:00Z', '2026-07-01T21:00:00.000Z'],
    ['by the zone, not by UTC', ['21:00-09:00 America/New_York'], '2026-07-01T18:00:00Z', null],
    [
      'in a time zone with half hours',
      ['21:00-09:00 Asia/Kolkata'],
      '2026-07-01T15:30:00Z',
      '2026-07-02T03:30:00.000Z',
    ],
  ])('%s', (_, windows, at, until) => {
    expect(untilOf(windows, at)).toBe(until)
  })
})

// 2026-07-03 is a Friday
describe('a weekday of quiet hours names the day on which they begin:', () => {
  const working = ['Mon-Fri 21:00-09:00 Europe/Kyiv']
  test.each([
    ['the night from Friday to Saturday', working, '2026-07-04T05:00:00Z', '2026-07-04T06:00:00.000Z'],
    ['not the night from Saturday to Sunday', working, '2026-07-04T20:00:00Z', null],
    ['a whole weekend', ['Sat-Sun 00:00-24:00 Europe/Kyiv'], '2026-07-03T21:00:00Z', '2026-07-05T21:00:00.000Z'],
    ['one day', ['Sun 00:00-24:00 Europe/Kyiv'], '2026-07-04T12:00:00Z', null],
    [
      'days across the end of the week',
      ['Sat-Mon 10:00-11:00 Europe/Kyiv'],
      '2026-07-06T07:00:00Z',
      '2026-07-06T08:00:00.000Z',
    ],
    [
      'adjacent windows are one',
      [...kyivNight, 'Sat-Sun 09:00-21:00 Europe/Kyiv'],
      '2026-07-03T19:00:00Z',
      '2026-07-06T06:00:00.000Z',
    ],
  ])('%s', (_, windows, at, until) => {
    expect(untilOf(windows, at)).toBe(until)
  })
})

describe('a daylight saving change', () => {
  test.each([
    // Kyiv, 2026-03-29: 03:00 becomes 04:00. 2026-10-25: 04:00 becomes 03:00.
    ['shortens the night in spring', kyivNight, '2026-03-28T19:00:00Z', '2026-03-29T06:00:00.000Z'],
    ['lengthens the night in autumn', kyivNight, '2026-10-24T18:00:00Z', '2026-10-25T07:00:00.000Z'],
    [
      'that skips the end of quiet hours does not end them earlier',
      ['01:00-03:30 Europe/Kyiv'],
      '2026-03-29T00:30:00Z',
      '2026-03-29T01:30:00.000Z',
    ],
    [
      'that skips the beginning of quiet hours does not begin them later',
      ['03:30-05:00 Europe/Kyiv'],
      '2026-03-29T01:00:00Z',
      '2026-03-29T02:00:00.000Z',
    ],
    [
      'in which their beginning occurs twice begins them at the first',
      ['03:30-05:00 Europe/Kyiv'],
      '2026-10-25T00:30:00Z',
      '2026-10-25T03:00:00.000Z',
    ],
    [
      'in which their end occurs twice ends them at the second',
      ['01:00-03:30 Europe/Kyiv'],
      '2026-10-25T01:15:00Z',
      '2026-10-25T01:30:00.000Z',
    ],
    // New York, 2026-03-08: 02:00 becomes 03:00. 2026-11-01: 02:00 becomes 01:00.
    ['in New York in spring', ['21:00-09:00 America/New_York'], '2026-03-08T02:00:00Z', '2026-03-08T13:00:00.000Z'],
    ['in New York in autumn', ['21:00-09:00 America/New_York'], '2026-11-01T01:00:00Z', '2026-11-01T14:00:00.000Z'],
    [
      'in New York within a window',
      ['01:30-01:45 America/New_York'],
      '2026-11-01T05:30:00Z',
      '2026-11-01T06:45:00.000Z',
    ],
  ])('%s', (_, windows, at, until) => {
    expect(untilOf(windows, at)).toBe(until)
  })
})

describe('quiet hours began at', () => {
  test.each([
    ['their begin', kyivNight, '2026-07-02T02:30:00Z', '2026-07-01T18:00:00.000Z'],
    ['their first moment', kyivNight, '2026-07-01T18:00:00Z', '2026-07-01T18:00:00.000Z'],
    [
      'the beginning of the first of adjacent windows',
      [...kyivNight, 'Sat-Sun 09:00-21:00 Europe/Kyiv'],
      '2026-07-05T19:00:00Z',
      '2026-07-03T18:00:00.000Z',
    ],
    [
      'the beginning of the first of overlapping windows',
      ['Sat-Sun 00:00-24:00 Europe/Kyiv', ...kyivNight],
      '2026-07-04T12:00:00Z',
      '2026-07-03T18:00:00.000Z',
    ],
  ])('%s', (_, windows, at, since) => {
    expect(sinceOf(windows, at)).toBe(since)
  })
})

describe('the next quiet hours begin', () => {
  test.each([
    ['today', kyivNight, '2026-07-01T12:00:00Z', '2026-07-01T18:00:00.000Z'],
    ['tomorrow, while they hold', kyivNight, '2026-07-01T18:00:00Z', '2026-07-02T18:00:00.000Z'],
    ['after a daylight saving change', kyivNight, '2026-10-25T12:00:00Z', '2026-10-25T19:00:00.000Z'],
    ['in a week', ['Sun 10:00-11:00 Europe/Kyiv'], '2026-07-05T07:00:00Z', '2026-07-12T07:00:00.000Z'],
    ['never', [], '2026-07-01T12:00:00Z', 'never'],
  ])('%s', (_, windows, at, begin) => {
    expect(beginOf(windows, at)).toBe(begin)
  })
})

const halfHour = 1_800_000
const dayNames = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
/** A window in half hours. */
const window = fc
  .record({ from: fc.nat(47), hours: fc.integer({ min: 1, max: 47 }), days: fc.option(fc.tuple(fc.nat(6), fc.nat(6))) })
  .map(({ from, hours, days }) => ({ from, to: from + hours, days }))
const clockText = (half: number) => `${String(Math.floor(half / 2)).padStart(2, '0')}:${half % 2 ? '30' : '00'}`
type Window = typeof window extends fc.Arbitrary<infer T> ? T : never

function textOf({ from, to, days }: Window): string {
  const named = days ? `${days.map(day => dayNames[day]).join('-')} ` : ''
  return `${named}${clockText(from)}-${clockText(to === 48 ? 48 : to % 48)} Asia/Kolkata`
}

/** The half hours of five weeks by the clock in India that are quiet, and those in which a window begins. */
function walk(windows: readonly Window[]) {
  const quiet = new Set<number>()
  const begins: number[] = []
  for (let day = 0; day < 35; day++) {
    for (const { from, to, days } of windows) {
      const [first, last] = days ?? [0, 6]
      if ((day - first + 7) % 7 > (last - first + 7) % 7) continue
      begins.push(48 * day + from)
      for (let half = from; half < to; half++) quiet.add(48 * day + half)
    }
  }
  return { quiet, begins }
}

test('quiet hours of any windows last as long as any of them does without a gap, and begin when the next one does', () => {
  const sunday = Date.parse('2026-07-05T00:00:00+05:30')
  const inTwoWeeks = fc.integer({ min: 14 * 48, max: 21 * 48 })
  fc.assert(
    fc.property(fc.array(window, { maxLength: 3 }), inTwoWeeks, fc.nat(halfHour - 1), (windows, half, ms) => {
      const { quiet, begins } = walk(windows)
      let [from, to] = [half, half]
      while (quiet.has(from - 1)) from--
      while (quiet.has(to)) to++
      fc.pre(to - from < 7 * 48)
      const instant = (half: number) => sunday + half * halfHour
      const hours = quietHoursOf(windows.map(textOf))
      const now = instant(half) + ms
      const expected = quiet.has(half) ? { from: instant(from), to: instant(to) } : null
      expect(hours.during(now)).toEqual(expected)
      expect(hours.begin(now)).toBe(instant(Math.min(...begins.filter(begin => begin > half))))
    }),
    { numRuns: 50 },
  )
})
