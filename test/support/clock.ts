import type { Clock } from '../../src/clock.ts'

interface Timer {
  at: number
  callback: () => void
}

/** 2026-03-14, noon. */
const epoch = Date.UTC(2026, 2, 14, 12)

/** Monotonic milliseconds of a process that has run for an hour. */
export const anHour = 3_600_000

/** A clock that a test advances by hand. */
export class ManualClock implements Clock {
  #elapsed = 0
  #suspended = 0
  #stepped = 0
  #timers: Timer[] = []
  readonly #startsAt: number

  /** @param startsAt monotonic milliseconds; other than 0, so that an instant cannot be taken for an age */
  constructor(startsAt = 0) {
    this.#startsAt = startsAt
  }

  /** Milliseconds since the test has begun. */
  get elapsed(): number {
    return this.#elapsed
  }

  now(): number {
    return epoch + this.uptime() + this.#stepped
  }

  monotonic(): number {
    return this.#startsAt + this.#elapsed
  }

  uptime(): number {
    return this.#elapsed + this.#suspended
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#elapsed + ms, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  /** The number of timers that have not fired. */
  get pending(): number {
    return this.#timers.length
  }

  /** Changes the wall clock by some milliseconds, as an operator or NTP would. */
  step(ms: number): void {
    this.#stepped += ms
  }

  /** Suspends the machine for some milliseconds: `uptime` advances, `monotonic` does not. */
  suspend(ms: number): void {
    this.#suspended += ms
  }

  /** Advances the time. Timers fire when they are due; after each, pending promises settle. */
  async pass(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await settled()
    for (let timer = this.#due(end); timer; timer = this.#due(end)) {
      this.#elapsed = Math.max(this.#elapsed, timer.at)
      this.#timers.splice(this.#timers.indexOf(timer), 1)
      timer.callback()
      await settled()
    }
    this.#elapsed = end
  }

  #due(end: number): Timer | undefined {
    const due = this.#timers.filter(({ at }) => at <= end)
    return due.reduce<Timer | undefined>((first, timer) => (first && first.at <= timer.at ? first : timer), undefined)
  }
}

/** Resolves when all promises have settled that need neither time nor I/O. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
