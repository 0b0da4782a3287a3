import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { durationFlag, sinceFlag, untilFlag } from '../../src/cli/framework/times.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/** Texts that look like times, and those that a slip makes of them. */
const written = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'0123456789-:TZ.+smhd ') }),
  fc.tuple(fc.nat(), fc.constantFrom('ms', 's', 'm', 'h', 'd', '', 'w', 'min')).map(parts => parts.join('')),
  fc.integer({ min: -1e13, max: 1e17 }).map(String),
  fc.date().map(String),
  fc.date({ noInvalidDate: true }).map(date => date.toISOString()),
)

/** What a flag makes of a text; null if it refuses it. */
function read(flag: { read(text: string): number }, text: string): number | null {
  try {
    return flag.read(text)
  } catch (error) {
    expect((error as Error).message).toMatch(/^expected a duration such as /)
    return null
  }
}

describe('of any text, a flag makes', () => {
  test('a time in the past, or a complaint', () => {
    fc.assert(
      fc.property(written, text => {
        const time = read(sinceFlag(''), text) ?? 0
        expect(time).toBeGreaterThanOrEqual(0)
        expect(time).toBeLessThanOrEqual(Date.now() + minuteMs)
      }),
    )
  })

  test('a time in the future within its limit, or a complaint', () => {
    fc.assert(
      fc.property(written, text => {
        const before = Date.now()
        const time = read(untilFlag('', '30d'), text)
        if (time === null) return
        expect(time).toBeGreaterThan(before)
        expect(time).toBeLessThanOrEqual(Date.now() + 30 * 24 * hourMs)
      }),
    )
  })

  test('a duration within its limit, or a complaint', () => {
    fc.assert(
      fc.property(written, text => {
        const ms = read(durationFlag('', '1h'), text) ?? 0
        expect(ms).toBeGreaterThanOrEqual(0)
        expect(ms).toBeLessThanOrEqual(hourMs)
      }),
    )
  })
})

test.each([
  ['250', 250],
  ['250ms', 250],
  ['10s', 10_000],
  ['5m', 5 * minuteMs],
  ['1h', hourMs],
  ['0d', 0],
])('the duration %s is %i milliseconds', (text, ms) => {
  expect(durationFlag('', '1h').read(text)).toBe(ms)
})

test.each([
  ['2020-11-22', '2020-11-22T00:00:00.000Z'],
  ['2020-11-22T10:00:00Z', '2020-11-22T10:00:00.000Z'],
  ['2020-11-22T12:00:00+02:00', '2020-11-22T10:00:00.000Z'],
  ['1606039200000', '2020-11-22T10:00:00.000Z'],
])('the time %s is %s', (text, iso) => {
  expect(new Date(sinceFlag('').read(text)).toISOString()).toBe(iso)
})
