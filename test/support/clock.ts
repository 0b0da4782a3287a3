import type { Clock } from '../../src/clock.ts'

interface Timer {
  at: number
  callback: () => void
}

/** 2026-03-14, noon. */
const epoch = Date.UTC(2026, 2, 14, 12)

/** Time that passes only when the test says so. */
export class ManualClock implements Clock {
  #elapsed = 0
  #suspended = 0
  #stepped = 0
  #timers: Timer[] = []

  now(): number {
    return epoch + this.uptime() + this.#stepped
  }

  monotonic(): number {
    return this.#elapsed
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

  /** Timers that have not run. */
  get pending(): number {
    return this.#timers.length
  }

  /** Somebody sets the wall clock by so many milliseconds. */
  step(ms: number): void {
    this.#stepped += ms
  }

  /** The machine is suspended for so many milliseconds, and goes on. */
  suspend(ms: number): void {
    this.#suspended += ms
  }

  /** Lets time pass; timers run at their instants, and after each, whatever waits for a promise goes on. */
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

/** Resolves when every promise that can go on without time or input has gone on. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
