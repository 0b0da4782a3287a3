/** A throttled answer reduces the rate to this fraction, but not below `averagePart` of the last minute's average. */
const decrease = 0.7
const averagePart = 0.85
/**
 * The rate returns to its old value after 18 s, reaches 54 times the reduced value after a minute, and is unlimited after
 * two.
 */
const recoveryMs = 25_000
const forgottenMs = 120_000
/** A single throttled answer within this time is ignored, since others may use the gateway too. */
const strayMs = 10_000

/**
 * Estimates the account's rate from throttled answers: multiplicative decrease, accelerating recovery. Times are monotonic
 * milliseconds; rates are operations a second.
 */
export function learntRate() {
  const passedLately = averageRate(1_000)
  const passedInMinute = averageRate(60_000)
  /** The rate right after the last decrease. */
  let base = Number.POSITIVE_INFINITY
  let throttledAt = Number.NEGATIVE_INFINITY
  /** Time of the first success after the decrease, from which the rate recovers; null until then. */
  let passedAt: number | null = null

  /** At least 1; Infinity if the gateway has not throttled lately. */
  function limit(now: number): number {
    const since = passedAt === null ? 0 : now - passedAt
    return since > forgottenMs ? Number.POSITIVE_INFINITY : base * 2 ** ((since / recoveryMs) ** 2)
  }

  return {
    limit,
    passed(operations: number, now: number): void {
      if (operations > 0) passedAt ??= now
      passedLately.add(operations, now)
      passedInMinute.add(operations, now)
    },
    /** A request with this many operations was throttled. Ignores requests that began before the last decrease. */
    throttled(operations: number, begunAt: number, now: number): void {
      if (begunAt <= throttledAt) return
      const before = limit(now)
      const isStray = before === Number.POSITIVE_INFINITY && now - throttledAt > strayMs
      throttledAt = now
      passedAt = null
      base = Number.POSITIVE_INFINITY
      if (isStray) return
      const rate = Number.isFinite(before) ? before : passedLately.perSecond(now) || operations
      base = Math.max(1, decrease * rate, averagePart * passedInMinute.perSecond(now))
    },
  }
}

/** Average of counts over a window. */
function averageRate(windowMs: number) {
  let sum = 0
  let at = 0
  const sumAt = (now: number) => sum * Math.exp((at - now) / windowMs)
  return {
    add(count: number, now: number): void {
      sum = sumAt(now) + count
      at = now
    },
    perSecond: (now: number) => (sumAt(now) * 1_000) / windowMs,
  }
}
