import { type Clock, sleep } from '../../clock.ts'

/** The first pause, and each is twice as long as the one before. */
const firstPauseMs = 2

/** How long what was refused may be tried again: until a limit in all, or until something else has failed for good. */
export class Patience {
  readonly #clock: Clock
  readonly #until: number
  #over = false

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock
    this.#until = clock.monotonic() + limitMs
  }

  /** Milliseconds that one more try may take: `most`, or what is left. */
  within(most: number): number {
    return Math.max(1, Math.min(most, this.#until - this.#clock.monotonic()))
  }

  /** Nothing is tried again from now on. */
  end(): void {
    this.#over = true
  }

  /** Waits before another try. @returns whether there may be one @param tries so many there were before */
  async pause(tries: number, longestMs: number): Promise<boolean> {
    const ms = Math.min(firstPauseMs * 2 ** tries, longestMs)
    if (this.#over || this.#clock.monotonic() + ms > this.#until) return false
    await sleep(this.#clock, ms)
    return !this.#over
  }

  /** Tries again while `mayPass` says so of what was thrown. @throws what was thrown last */
  async repeat<T>(longestPauseMs: number, attempt: () => Promise<T>, mayPass: (error: unknown) => boolean): Promise<T> {
    for (let tries = 0; ; tries++) {
      try {
        return await attempt()
      } catch (error) {
        if (!mayPass(error) || !(await this.pause(tries, longestPauseMs))) throw error
      }
    }
  }
}
