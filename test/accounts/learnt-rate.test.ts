import { describe, expect, test } from 'vitest'
import { LearntRate } from '../../src/accounts/learnt-rate.ts'

const second = 1_000

/** An account of which so many operations a second pass for a minute, until it is throttled twice. */
function throttledAt(operations: number) {
  const rate = new LearntRate()
  let now = 0
  for (; now < 60 * second; now += 100) rate.passed(operations / 10, now)
  rate.throttled(10, now - 1, now)
  rate.throttled(10, now + 500, now + 600)
  return { rate, now: now + 600 }
}

describe('what the gateway allows', () => {
  test('is unknown until it throttles', () => {
    const rate = new LearntRate()
    for (let now = 0; now < 10 * second; now += 100) rate.passed(500, now)
    expect(rate.limit(10 * second)).toBe(Number.POSITIVE_INFINITY)
  })

  test('is not told by one throttled answer in ten seconds', () => {
    const rate = new LearntRate()
    for (const at of [0, 11 * second, 22 * second]) {
      rate.throttled(10, at - 20, at)
      expect(rate.limit(at)).toBe(Number.POSITIVE_INFINITY)
    }
  })

  test('is taken for less than what passed when it throttled', () => {
    const { rate, now } = throttledAt(100)
    expect(rate.limit(now)).toBeGreaterThan(40)
    expect(rate.limit(now)).toBeLessThan(100)
  })

  test('is taken for less of what was sent where nothing passed, down to one operation a second', () => {
    const rate = new LearntRate()
    rate.throttled(100, 0, 20)
    rate.throttled(100, 30, 50)
    expect(rate.limit(50)).toBe(70)
    for (let now = 100; now < 30 * second; now += 500) rate.throttled(1, now - 20, now)
    expect(rate.limit(60 * second)).toBe(1)
  })

  test('falls once for all requests that were under way when it fell', () => {
    const { rate, now } = throttledAt(100)
    const limit = rate.limit(now)
    for (let i = 0; i < 7; i++) rate.throttled(100, now - 10, now + i)
    expect(rate.limit(now + 7)).toBe(limit)
  })

  test('never falls below 85 % of what passed a second on average in the last minute', () => {
    const { rate, now } = throttledAt(100)
    for (let i = 1; i <= 10; i++) rate.throttled(100, now + 10 * i - 1, now + 10 * i)
    expect(rate.limit(now + 100)).toBeGreaterThan(0.8 * 0.63 * 100)
  })

  test('rises as soon as something passes: to what it was in 20 s, to all in two minutes', () => {
    const { rate, now } = throttledAt(100)
    const limit = rate.limit(now)
    expect(rate.limit(now + 60 * second)).toBe(limit)
    rate.passed(1, now + 60 * second)
    expect(rate.limit(now + 80 * second) / limit).toBeCloseTo(1.56, 2)
    expect(rate.limit(now + 181 * second)).toBe(Number.POSITIVE_INFINITY)
  })
})
