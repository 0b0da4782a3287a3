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
})

test('nothing counts as later than what came after the clock was set back', () => {
  const times = build([[1], 1000], [[2], 900])
  expect(times.oldest(() => true)).toBe(900)
  times.set([1], 1000)
  expect(times.oldest(() => true)).toBe(900)
  expect(times.oldest(offset => offset !== 2)).toBe(1000)
})

test('offsets that are intended again and again behind an old one take no more and more memory', () => {
  const times = build([[0], 1])
  let asked = 0
  const isPosted = (offset: number) => {
    asked++
    return offset <= 1
  }
  for (let since = 2; since < 50_000; since++) {
    times.set([1], since)
    expect(times.oldest(isPosted)).toBe(1)
  }
  expect(asked).toBeLessThan(200_000)
  expect(times.oldest(offset => offset === 1)).toBe(49_999)
})
