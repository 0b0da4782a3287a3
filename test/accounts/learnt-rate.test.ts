import { describe, expect, test } from 'vitest'
import { LearntRate } from '../../src/accounts/learnt-rate.ts'

const second = 1_000

/** An account that sends so many operations a second for ten seconds, of which so many pass. */
function sending(operations: number, passing = operations) {
  const rate = new LearntRate()
  for (let now = 0; now < 10 * second; now += 100) {
    rate.sent(operations / 10, now)
    rate.passed(passing / 10, now, now)
  }
  return { rate, now: 10 * second - 1 }
}

/** The same account, which was throttled once already, half a second ago. */
function throttledBefore(operations: number, passing = operations) {
  const { rate, now } = sending(operations, passing)
  rate.throttled(10, now - 520, now - 500)
  return { rate, now }
}

describe('what the gateway allows', () => {
  test('is unknown until it throttles', () => {
    const { rate, now } = sending(5_000)
    expect(rate.limit(now)).toBe(Number.POSITIVE_INFINITY)
  })

  test('is not told by one throttling answer in ten seconds', () => {
    const { rate, now } = sending(100)
    for (const at of [now, now + 11 * second, now + 22 * second]) {
      rate.throttled(10, at - 20, at)
      expect(rate.limit(at)).toBe(Number.POSITIVE_INFINITY)
    }
  })

  test('is taken for less than what passed when it throttled', () => {
    const { rate, now } = throttledBefore(5_000, 100)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now)).toBeCloseTo(85)
  })

  test('is taken for less than what was sent, where nothing passed', () => {
    const { rate, now } = throttledBefore(5_000, 0)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now)).toBeCloseTo(4_250)
  })

  test('is tried for more as time goes: as much as before after fifteen seconds in which all passes, twice that after as many', () => {
    const { rate, now } = throttledBefore(100)
    rate.throttled(10, now - 20, now)
    expect(rate.limit(now + 30 * second)).toBeCloseTo(85)
    const passedAt = now + 30 * second
    rate.passed(1, passedAt - 20, passedAt)
    expect(rate.limit(passedAt + 5 * second)).toBeCloseTo(90)
    expect(rate.limit(passedAt + 15 * second)).toBeCloseTo(100)
    expect(rate.limit(passedAt + 30 * second)).toBeCloseTo(200)
    expect(rate.limit(passedAt + 45 * second)).toBeCloseTo(400)
  })

  test('falls once for all requests that were under way, and again for one that began later', () => {
    const { rate, now } = throttledBefore(100)
    for (const begunAt of [now - 30, now - 20, now - 10]) rate.throttled(10, begunAt, now)
    expect(rate.limit(now)).toBeCloseTo(85)
    rate.passed(60, now + 480, now + 500)
    rate.throttled(10, now + 400, now + 1_300)
    expect(rate.limit(now + 1_300)).toBeCloseTo(51)
  })

  test('falls by half where nothing has passed since it fell', () => {
    const { rate, now } = throttledBefore(100)
    rate.throttled(10, now - 20, now)
    rate.throttled(100, now + 1_500, now + 1_520)
    expect(rate.limit(now + 1_520)).toBeCloseTo(42.5)
  })

  test('is tried for more as fast as before, where nothing passed for a while', () => {
    const { rate, now } = throttledBefore(100)
    for (let i = 0; i < 10; i++) rate.throttled(10, now + i * second - 20, now + i * second)
    const passedAt = now + 11 * second
    rate.passed(1, passedAt - 20, passedAt)
    expect(rate.limit(passedAt + 15 * second) - rate.limit(passedAt)).toBeCloseTo(15)
  })

  test('never falls below one operation a second, and rises by a fifth of one each second at least', () => {
    const { rate, now } = throttledBefore(1)
    for (let i = 0; i < 10; i++) rate.throttled(1, now + i, now + i + 0.5)
    expect(rate.limit(now + 10)).toBeGreaterThanOrEqual(1)
    rate.passed(1, now + 20, now + 40)
    expect(rate.limit(now + 40 + 10 * second)).toBeGreaterThanOrEqual(3)
  })

  test('is unknown again when all has passed for five minutes', () => {
    const { rate, now } = throttledBefore(100)
    rate.throttled(10, now - 20, now)
    rate.passed(1, now + 10, now + 20)
    expect(rate.limit(now + 299 * second)).toBeLessThan(Number.POSITIVE_INFINITY)
    expect(rate.limit(now + 301 * second)).toBe(Number.POSITIVE_INFINITY)
  })

  test('is what passed in the last minute but for a part, as soon as anything passes after nothing did', () => {
    const { rate, now } = throttledBefore(3_000, 300)
    for (let i = 0; i < 30; i++) rate.throttled(10, now + i * second - 20, now + i * second)
    expect(rate.limit(now + 30 * second)).toBe(1)
    rate.passed(1, now + 30 * second, now + 30 * second + 20)
    expect(rate.limit(now + 30 * second + 20)).toBeCloseTo((0.85 * 3_001) / 60)
  })

  test('is not told by a throttling answer now and then, where far less is sent than the rate that was learnt', () => {
    const { rate, now } = throttledBefore(100)
    rate.throttled(10, now - 20, now)
    rate.passed(1, now + 10, now + 20)
    const later = now + 120 * second
    const limit = rate.limit(later)
    rate.sent(1, later - 20)
    rate.throttled(1, later - 20, later)
    expect(rate.limit(later)).toBe(limit)
    rate.throttled(1, later + second, later + second + 20)
    expect(rate.limit(later + second + 20)).toBeLessThan(10)
  })

  test('is not given up for what the gateway still counts of the time before it was known', () => {
    const { rate, now } = throttledBefore(100)
    for (const at of [now, now + 500]) {
      rate.refused(100, at)
      rate.throttled(20, at - 20, at)
    }
    expect(rate.limit(now + 500)).toBeLessThan(85)
  })

  test('is not told by what is throttled as much after slowing down, for a minute', () => {
    const { rate, now } = throttledBefore(100)
    const halfThrottled = (at: number) => {
      rate.passed(50, at - 20, at)
      return rate.refused(50, at)
    }
    for (const [at, limit] of [
      [now + 2 * second, 42.5],
      [now + 4 * second, 0.85 * 42.5],
      [now + 6 * second, Number.POSITIVE_INFINITY],
    ] as const) {
      expect(halfThrottled(at)).toBe(false)
      rate.throttled(50, at - 20, at)
      expect(rate.limit(at)).toBeCloseTo(limit)
    }
    expect([halfThrottled(now + 8 * second), halfThrottled(now + 67 * second)]).toEqual([true, false])
  })
})
