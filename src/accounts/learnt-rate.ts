/** What a throttled answer leaves of the rate, and at least of what passed a second on average in the last minute. */
const decrease = 0.7
const averagePart = 0.85
/** The rate has recovered from 0.7 after 18 s, is 54 times as high after a minute, and unlimited after two. */
const recoveryMs = 25_000
const forgottenMs = 120_000
/** One throttled answer in so long is no limit: others use the gateway, too. */
const strayMs = 10_000

/**
 * The rate that the gateway allows an account, as far as throttled answers tell: additive increase, multiplicative
 * decrease. All times are monotonic milliseconds, all rates operations a second.
 */
export class LearntRate {
  readonly #passedLately = new AverageRate(1_000)
  readonly #passedInMinute = new AverageRate(60_000)
  /** Right after the last decrease. */
  #base = Number.POSITIVE_INFINITY
  #throttledAt = Number.NEGATIVE_INFINITY
  /** When something passed first after that: from then on the rate rises. Null: nothing has. */
  #passedAt: number | null = null

  /** One at least; Infinity: the gateway has not throttled lately. */
  limit(now: number): number {
    const since = this.#passedAt === null ? 0 : now - this.#passedAt
    return since > forgottenMs ? Number.POSITIVE_INFINITY : this.#base * 2 ** ((since / recoveryMs) ** 2)
  }

  passed(operations: number, now: number): void {
    if (operations > 0) this.#passedAt ??= now
    this.#passedLately.add(operations, now)
    this.#passedInMinute.add(operations, now)
  }

  /** A request of so many operations was throttled. One that began before the last decrease says nothing new. */
  throttled(operations: number, begunAt: number, now: number): void {
    if (begunAt <= this.#throttledAt) return
    const limit = this.limit(now)
    const isStray = limit === Number.POSITIVE_INFINITY && now - this.#throttledAt > strayMs
    this.#throttledAt = now
    this.#passedAt = null
    this.#base = Number.POSITIVE_INFINITY
    if (isStray) return
    const rate = Number.isFinite(limit) ? limit : this.#passedLately.at(now) || operations
    this.#base = Math.max(1, decrease * rate, averagePart * this.#passedInMinute.at(now))
  }
}

/** An exponentially weighted average. */
class AverageRate {
  readonly #windowMs: number
  #sum = 0
  #at = 0

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  add(count: number, now: number): void {
    this.#sum = this.#sumAt(now) + count
    this.#at = now
  }

  /** A second. */
  at(now: number): number {
    return (this.#sumAt(now) * 1_000) / this.#windowMs
  }

  #sumAt(now: number): number {
    return this.#sum * Math.exp((this.#at - now) / this.#windowMs)
  }
}
