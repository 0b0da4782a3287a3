import { describe, expect, test } from 'vitest'
import { LearntRate } from '../../src/accounts/learnt-rate.ts'

const second = 1_000

/** An account that sends so many operations a second for ten seconds, of which so many pass. */
function sending(operations: number, passing = operations) {
  const rate = new LearntRate()
  for (let now = 0; now < 10 * second; now += 100) {
    rate.sent(operations / 10, now)
    rate.passed(passing / 10, now)
  }
  return { rate, now: 10 * second - 1 }
}

describe('what the gateway allows', () => {
  test('is unknown until it throttles', () => {
    const { rate, now } = sending(5_000)
    expect(rate.limit(now)).toBe(Number.POSITIVE_INFINITY)
  })

  test('is taken for less than what passed when it throttled', () => {
    const { rate, now } = sending(5_000, 100)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now)).toBeCloseTo(70)
  })

  test('is taken for less than what was sent, where nothing passed', () => {
    const { rate, now } = sending(5_000, 0)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now)).toBeCloseTo(3_500)
  })

  test('is tried for more as time goes: after ten seconds for as much as before', () => {
    const { rate, now } = sending(100)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now + 5 * second)).toBeCloseTo(85)
    expect(rate.limit(now + 10 * second)).toBeCloseTo(100)
    expect(rate.limit(now + 20 * second)).toBeCloseTo(130)
  })

  test('falls once for all requests that were under way, and again for one that began later', () => {
    const { rate, now } = sending(100)
    for (const begunAt of [now - 30, now - 20, now - 10]) rate.throttled(10, begunAt, now)
    expect(rate.limit(now)).toBeCloseTo(70)
    rate.passed(60, now + 500)
    rate.throttled(10, now + 400, now + 1_300)
    expect(rate.limit(now + 1_300)).toBeCloseTo(42)
  })

  test('never falls below one operation a second, and rises by one at least', () => {
    const { rate, now } = sending(1)
    for (let i = 0; i < 10; i++) rate.throttled(1, now + i, now + i + 0.5)
    expect(rate.limit(now + 10)).toBeGreaterThanOrEqual(1)
    expect(rate.limit(now + 10 * second)).toBeGreaterThanOrEqual(10)
  })

  test('is unknown again when nothing was throttled for a minute', () => {
    const { rate, now } = sending(100)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now + 60 * second)).toBeLessThan(1_000)
    expect(rate.limit(now + 61 * second)).toBe(Number.POSITIVE_INFINITY)
  })
})
