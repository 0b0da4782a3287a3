/** Part of the rate that is left after a throttling answer. */
const decrease = 0.7
/** Seconds until what was taken is added again; at least so many operations a second are added each second. */
const recovery = 10
const leastIncrease = 1
/** What was learnt counts no more when nothing was throttled for so long: the gateway may allow far more by then. */
const forgottenMs = 60_000
/**
 * Where no more of the last second's operations were throttled than this part, the rate is not why: gateways throttle
 * single recipients, too, however slowly they are sent to.
 */
const fewPart = 1 / 10
const secondMs = 1_000
const steps = 10

/**
 * The rate that the gateway allows an account, as far as throttling answers tell: each takes a part of it away, and time
 * adds to it again (additive increase, multiplicative decrease). So several processes come to equal parts of it.
 */
export class LearntRate {
  readonly #sent = new LastSecond()
  readonly #passed = new LastSecond()
  readonly #refused = new LastSecond()
  /** Right after the last decrease. */
  #base = Number.POSITIVE_INFINITY
  #increase = 0
  /** Monotonic milliseconds. */
  #decreasedAt = Number.NEGATIVE_INFINITY

  /** Operations a second, one at least; Infinity: nothing is known. */
  limit(now: number): number {
    const since = now - this.#decreasedAt
    return since > forgottenMs ? Number.POSITIVE_INFINITY : this.#base + (this.#increase * since) / secondMs
  }

  /** Operations are sent. */
  sent(operations: number, now: number): void {
    this.#sent.add(operations, now)
  }

  /** Operations were answered that were not throttled. */
  passed(operations: number, now: number): void {
    this.#passed.add(operations, now)
  }

  /** Operations were answered that were throttled. @returns whether so few were lately that the rate is not why */
  refused(operations: number, now: number): boolean {
    this.#refused.add(operations, now)
    const refused = this.#refused.count(now)
    return refused <= fewPart * (this.#passed.count(now) + refused)
  }

  /** A request of so many operations was throttled, in part at least. One from before the last decrease says nothing new. */
  throttled(operations: number, begunAt: number, now: number): void {
    if (begunAt <= this.#decreasedAt) return
    const seen = this.#passed.count(now) || this.#sent.count(now) || operations
    const rate = Math.max(1, Math.min(this.limit(now), seen))
    this.#base = Math.max(1, rate * decrease)
    this.#increase = Math.max(leastIncrease, (rate * (1 - decrease)) / recovery)
    this.#decreasedAt = now
  }
}

/** A count over a sliding second, in steps of a tenth. */
class LastSecond {
  readonly #counts = new Float64Array(steps)
  #step = 0

  add(count: number, now: number): void {
    this.#goTo(now)
    this.#counts[this.#step % steps]! += count
  }

  count(now: number): number {
    this.#goTo(now)
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  #goTo(now: number): void {
    const step = Math.floor(now / (secondMs / steps))
    const passed = Math.min(steps, step - this.#step)
    for (let i = 1; i <= passed; i++) this.#counts[(this.#step + i) % steps] = 0
    this.#step = Math.max(step, this.#step)
  }
}
