/** Part of the rate that is left after a throttling answer, and after one where nothing has passed since the last. */
const decrease = 0.85
const decreaseAtNothing = 0.5
/**
 * Seconds until what was taken is added again, at least so many operations a second each second; from then on the rate doubles
 * in as long.
 */
const recovery = 15
const leastIncrease = 0.2
/** What was learnt counts no more when nothing was throttled for so long: the rate has doubled nineteen times by then. */
const forgottenMs = 300_000
/**
 * One throttling answer within so long tells nothing where the rate is more than so many times what is sent: others use the
 * gateway, too.
 */
const strayMs = 10_000
const quietFactor = 8
/**
 * Where no more of the last second's operations were throttled than this part, or than one, the rate is not why: gateways
 * throttle single recipients, too, however slowly they are sent to.
 */
const fewPart = 1 / 10
/** Slowing down to this part of a rate, or less, is in vain where at least so much of what was throttled before still is. */
const slower = 0.9
const alike = 0.8
/** So much more than what slowing down did not help against is borne, for so long; a gateway that throttles more is asked too much. */
const margin = 1.25
const borneMs = 60_000
const mostBorne = 9 / 10
const secondMs = 1_000
const minuteMs = 60_000
const steps = 10

/**
 * The rate that the gateway allows an account, as far as throttling answers tell: each takes a part of it away, and time
 * adds to it again (additive increase, multiplicative decrease). So several processes come to about equal parts of it.
 */
export class LearntRate {
  readonly #sent = new SlidingCount(secondMs)
  readonly #passed = new SlidingCount(secondMs)
  readonly #passedInMinute = new SlidingCount(minuteMs)
  readonly #refused = new SlidingCount(secondMs)
  readonly #passedAgain = new SlidingCount(secondMs)
  /** Right after the last decrease. */
  #base = Number.POSITIVE_INFINITY
  #increase = 0
  /** When the last throttling answer counted, and when the first operations passed that were sent after it, in monotonic milliseconds. */
  #throttledAt = Number.NEGATIVE_INFINITY
  #passedAt: number | null = null
  /** Whether nothing had passed between the last two throttling answers that counted. */
  #hasStopped = false
  /** Before the last decrease: the rate, and the part of the operations that was throttled; Infinity where none was known. */
  #before = { rate: 0, part: 0 }
  /** The part of the operations that may be throttled without the rate being taken for the reason, and until when. */
  #borne = { part: fewPart, until: Number.NEGATIVE_INFINITY }

  /** Operations a second, one at least; Infinity: nothing is known. It rises from the time on when something passes. */
  limit(now: number): number {
    const since = this.#passedAt === null ? 0 : now - this.#passedAt
    if (since > forgottenMs) return Number.POSITIVE_INFINITY
    const seconds = since / secondMs
    const recovered = this.#base + this.#increase * Math.min(seconds, recovery)
    return recovered * 2 ** Math.max(0, seconds / recovery - 1)
  }

  /** Operations are sent. */
  sent(operations: number, now: number): void {
    this.#sent.add(operations, now)
  }

  /** Operations were answered that were not throttled. @param begunAt when they were sent */
  passed(operations: number, begunAt: number, now: number): void {
    this.#passed.add(operations, now)
    this.#passedInMinute.add(operations, now)
    if (operations === 0 || begunAt <= this.#throttledAt || this.#passedAt !== null) return
    this.#passedAt = now
    if (this.#hasStopped) this.#base = Math.max(this.#base, decrease * this.#usual(now)) // the gateway may count by the minute
  }

  /**
   * Operations passed that were throttled before. @returns whether any did lately: where none does, the rate is not why
   * they are throttled
   */
  passedAgain(operations: number, now: number): boolean {
    this.#passedAgain.add(operations, now)
    return this.#passedAgain.count(now) > 0
  }

  /** Operations were answered that were throttled. @returns whether so few were lately that the rate is not why */
  refused(operations: number, now: number): boolean {
    this.#refused.add(operations, now)
    const bearable = now < this.#borne.until ? this.#borne.part : fewPart
    return this.#refused.count(now) <= 1 || this.#partRefused(now) <= bearable
  }

  /** A request of so many operations was throttled, in part at least. One from before the last time says nothing new. */
  throttled(operations: number, begunAt: number, now: number): void {
    if (begunAt <= this.#throttledAt) return
    const limit = this.limit(now)
    const seen = Math.max(this.#passed.count(now) || this.#sent.count(now) || operations, this.#usual(now))
    const isStray = now - this.#throttledAt > strayMs && limit > quietFactor * seen
    this.#throttledAt = now
    if (isStray) return
    const part = this.#partRefused(now)
    const isAlike = part > 0 && part >= alike * this.#before.part
    const isInVain = isAlike && part * margin <= mostBorne && limit <= slower * this.#before.rate
    this.#hasStopped = this.#passedAt === null && limit !== Number.POSITIVE_INFINITY
    this.#passedAt = null
    if (isInVain) {
      this.#borne = { part: part * margin, until: now + borneMs }
      this.#base = Number.POSITIVE_INFINITY
      return
    }
    const rate = Math.max(1, Math.min(limit, seen))
    // what is throttled while no rate is known says nothing of one that is: the gateway counts that burst for a while yet
    this.#before = { rate, part: limit === Number.POSITIVE_INFINITY ? Number.POSITIVE_INFINITY : part }
    this.#base = Math.max(1, rate * (this.#hasStopped ? decreaseAtNothing : decrease))
    // Where nothing passes the rate falls far below what is allowed: the way back is not slower for it.
    const slowest = this.#hasStopped ? this.#increase : leastIncrease
    this.#increase = Math.max(slowest, (rate * (1 - decrease)) / recovery)
  }

  /** Operations a second that passed in the last minute. */
  #usual(now: number): number {
    return (this.#passedInMinute.count(now) * secondMs) / minuteMs
  }

  /** The part of the last second's answers that were throttling single operations. */
  #partRefused(now: number): number {
    const refused = this.#refused.count(now)
    return refused === 0 ? 0 : refused / (this.#passed.count(now) + refused)
  }
}

/** A count over a sliding window, in steps of a tenth. */
class SlidingCount {
  readonly #stepMs: number
  readonly #counts = new Float64Array(steps)
  #step = 0

  constructor(windowMs: number) {
    this.#stepMs = windowMs / steps
  }

  add(count: number, now: number): void {
    this.#goTo(now)
    this.#counts[this.#step % steps]! += count
  }

  count(now: number): number {
    this.#goTo(now)
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  #goTo(now: number): void {
    const step = Math.floor(now / this.#stepMs)
    const passed = Math.min(steps, step - this.#step)
    for (let i = 1; i <= passed; i++) this.#counts[(this.#step + i) % steps] = 0
    this.#step = Math.max(step, this.#step)
  }
}
