import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { endText, timeText } from '../../src/words.ts'

vi.mock('/lit-html.js', () => import('lit-html'))
const { dateTime, span, withTimes } = (await import('../../src/ui/page/format.js' as string)) as {
  dateTime: (ms: number | null) => string
  span: (ms: number) => string
  withTimes: (text: string) => unknown
}

const beyond = [-1, 8.64e15 + 1, 2 ** 63, Number.POSITIVE_INFINITY, Number.NaN]

test.each(beyond)('the time %d of a record is unknown, on the page and in commands', ms => {
  expect([dateTime(ms), timeText(ms), timeText(ms, 'since')]).toEqual([
    ...['at an unknown time', 'at an unknown time', 'since an unknown time'],
  ])
})

test('a deadline beyond all dates is never', () => {
  expect([endText(2 ** 63), endText(8.64e15), endText(0)]).toEqual([
    ...['never', '+275760-09-13T00:00:00.000Z', '1970-01-01T00:00:00.000Z'],
  ])
})

test('any number becomes a text on the page and in commands', () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.maxSafeInteger(), fc.bigInt().map(Number)), ms => {
      for (const text of [dateTime(ms), span(ms), timeText(ms), endText(ms)]) expect(text).not.toMatch(/Invalid|NaN/)
    }),
  )
})

test('a text that looks like a time, but is none, is shown', () => {
  expect(() => withTimes('at 2026-99-99T99:99:99.999Z')).not.toThrow()
})
