import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instantOf } from '../../src/protocol/tolerant.ts'

const noon = Date.UTC(2026, 2, 14, 12)

test.each([
  ['2026-03-14T12:00:00Z', noon],
  ['2026-03-14T14:00:00+02:00', noon],
  ['2026-03-14T14:00:00+0200', noon],
  ['2026-03-14T08:30:00-03:30', noon],
  ['2026-03-14t12:00:00z', noon],
  ['2026-03-14 12:00:00Z', noon],
  ['2026-03-14T12:00Z', noon],
  ['2026-03-14T12:00:00.123456+00:00', noon + 123],
  ['2026-03-14T12:00:00.5Z', noon + 500],
])('%s is an instant', (text, expected) => {
  expect(instantOf(text)).toBe(expected)
})

test.each([
  '2026-03-14T12:00:00',
  '2026-03-14',
  '12:00:00Z',
  '2026-02-29T12:00:00Z',
  '2026-13-01T12:00:00Z',
  '2026-03-14T25:00:00Z',
  '2026-03-14T12:60:00Z',
  '2026-03-14T12:00:00+24:00',
  '2026-03-14T12:00:00 CET',
  '1773489600',
  'yesterday',
  '',
])('"%s" is not an unambiguous instant', text => {
  expect(instantOf(text)).toBeNull()
})

test('the ISO text of any date is read as that date', () => {
  const date = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(fc.property(date, at => instantOf(at.toISOString()) === at.getTime()))
})
