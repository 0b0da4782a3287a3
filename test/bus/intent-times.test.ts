import { expect, test } from 'vitest'
import { IntentTimes } from '../../src/bus/session/intent-times.ts'

function build(...intents: [offsets: number[], since: number][]) {
  const times = new IntentTimes()
  for (const [offsets, since] of intents) times.set(offsets, since)
  return times
}

test('the oldest of the intents that are left tells since when a POST may have begun', () => {
  const times = build([[1, 2], 100], [[3], 200], [[4], 300])
  expect(times.oldest(() => true)).toBe(100)
  expect(times.oldest(offset => offset !== 2)).toBe(100)
  expect(times.oldest(offset => offset > 2)).toBe(200)
  expect(times.oldest(offset => offset > 3)).toBe(300)
  expect(times.oldest(() => false)).toBe(0)
})

test('an offset that is intended again counts from then on', () => {
  const times = build([[1, 2], 100], [[3], 200], [[1], 300])
  expect(times.oldest(offset => offset !== 2)).toBe(200)
  expect(times.oldest(offset => offset === 1)).toBe(300)
  expect(times.earliestOf([1, 3])).toBe(200)
})

test('an offset that nobody has intended is of any time', () => {
  expect(build([[1], 100]).earliestOf([1, 2])).toBe(0)
})
