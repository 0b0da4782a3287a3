import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instantOf } from '../../src/protocol/instant.ts'

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
  ['2026-03-14T15:00:00,5+03:00', noon + 500],
  ['2026-03-14T15:00:00+03', noon],
  ['20260314T120000Z', noon],
  ['20260314T1500+0300', noon],
  ['2026-03-14T12Z', noon],
  ['2026-03-14T11:59.5Z', noon - 30_000],
  ['2026-073T12:00:00Z', noon],
  ['2026073T120000Z', noon],
  ['2026-W11-6T12:00:00Z', noon],
  ['2026W116T120000Z', noon],
  ['2026-03-14T08:30:00\u221203:30', noon],
  ['2026-03-14T24:00:00Z', noon + 12 * 3_600_000],
  ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
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
  '2026-03-14T24:00:01Z',
  '2026-366T12:00:00Z',
  '2026-000T12:00:00Z',
  '2026-W54-1T12:00:00Z',
  '2025-W53-1T12:00:00Z',
  '2026-W00-1T12:00:00Z',
  '20260314T120000',
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
