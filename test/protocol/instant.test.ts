import fc from 'fast-check'
import { expect, test } from 'vitest'
import { instantOf } from '../../src/protocol/instant.ts'

const noon = Date.UTC(2026, 2, 14, 12)

test.each([
  ['2026-03-14T12:00:00Z', noon],
  ['2026-03-14T14:00:00+02:00', noon],
  ['2026-03-14T14:00:00+0200', noon],
  ['2026-03-14T14:00:00+02', noon],
  ['2026-03-14T08:30:00-03:30', noon],
  ['2026-03-14T08:30:00\u221203:30', noon],
  ['2026-03-14t12:00:00z', noon],
  ['2026-03-14 12:00:00Z', noon],
  ['2026-03-14T12:00Z', noon],
  ['2026-03-14T12Z', noon],
  ['20260314T120000Z', noon],
  ['20260314T1200+00', noon],
  ['2026-073T12:00:00Z', noon],
  ['2026073T120000Z', noon],
  ['2026-W11-6T12:00:00Z', noon],
  ['2026W116T120000Z', noon],
  ['2026-03-13T24:00:00Z', noon - 12 * 3_600_000],
  ['2026-03-14T11:59:60Z', noon],
  ['2026-03-14T12:00:00.123456+00:00', noon + 123],
  ['2026-03-14T12:00:00,289Z', noon + 289],
  ['2026-03-14T12:00:00.5Z', noon + 500],
  ['2026-03-14T12:30.5Z', noon + 30.5 * 60_000],
  ['2026-03-14T12.25Z', noon + 15 * 60_000],
  ['2020-W53-7T00:00Z', Date.UTC(2021, 0, 3)],
  ['2025-W01-1T00:00Z', Date.UTC(2024, 11, 30)],
  ['2024-366T00:00Z', Date.UTC(2024, 11, 31)],
  ['0099-01-01T00:00Z', new Date('0099-01-01T00:00:00Z').getTime()],
])('%s is an instant', (text, expected) => {
  expect(instantOf(text)).toBe(expected)
})

test.each([
  '2026-03-14T12:00:00',
  '2026-03-14',
  '12:00:00Z',
  '2026-02-29T12:00:00Z',
  '2026-13-01T12:00:00Z',
  '2026-00-10T12:00:00Z',
  '2026-366T12:00Z',
  '2026-000T12:00Z',
  '2026-W54-1T12:00Z',
  '2026-W00-1T12:00Z',
  '2025-W53-1T12:00Z',
  '2026-W11-8T12:00Z',
  '2026-0314T12:00Z',
  '2026-03-14T25:00:00Z',
  '2026-03-14T24:00:01Z',
  '2026-03-14T12:60:00Z',
  '2026-03-14T12:00:61Z',
  '2026-03-14T12:0000Z',
  '2026-03-14T12:00:00+24:00',
  '2026-03-14T12:00:00+02:60',
  '2026-03-14T12:00:00 CET',
  '1773489600',
  'yesterday',
  '',
])('"%s" names no instant for certain', text => {
  expect(instantOf(text)).toBeNull()
})

test('what a Date writes is read as that date', () => {
  const date = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(fc.property(date, at => instantOf(at.toISOString()) === at.getTime()))
})
