import { type Clock, sleep } from '../../clock.ts'
import type { Api } from './apis.ts'
import type { Brokers, Target } from './brokers.ts'

/** A leader that moves is found within it, and a transaction that is being ended has ended. */
const limitMs = 12_000
/** A coordinator answers much sooner, or is not there. */
const answerMs = 4000
const leastMs = 500
/** The first pause, and each is twice as long as the one before. */
const firstPauseMs = 2
const longestPauseMs = 50

/**
 * Patience says how long what was refused may be tried again: until a limit in all, or until something else has failed
 * for good.
 */
export class Patience {
  readonly #clock: Clock
  readonly #until: number
  #over = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#until = clock.monotonic() + limitMs
  }

  /** Milliseconds that one more try may take: `most`, or what is left, but as many as it needs to make sense. */
  within(most: number): number {
    return Math.max(leastMs, Math.min(most, this.#until - this.#clock.monotonic()))
  }

  /** Nothing is tried again from now on. */
  end(): void {
    this.#over = true
  }

  /**
   * Waits before another try.
   * @param tries how many there were before
   * @returns whether there may be one
   */
  async pause(tries: number, longestMs: number): Promise<boolean> {
    const ms = Math.min(firstPauseMs * 2 ** tries, longestMs)
    if (this.#over || this.#clock.monotonic() + ms > this.#until) return false
    await sleep(this.#clock, ms)
    return !this.#over
  }
}

export interface PatientAsk {
  brokers: Pick<Brokers, 'ask'>
  target: Target
  patience: Patience
  /** Whether a refusal is waited out. */
  mayPass: (error: unknown) => boolean
}

/** Asks a coordinator, and again while it refuses what it will not refuse for long. @throws what was thrown last */
export async function askPatiently<Q extends unknown[], A>(
  { brokers, target, patience, mayPass }: PatientAsk,
  api: Api<Q, A>,
  request: Q,
): Promise<A> {
  for (let tries = 0; ; tries++) {
    try {
      return await brokers.ask(target, api, request, { line: 'commit', limitMs: patience.within(answerMs) })
    } catch (error) {
      if (!mayPass(error) || !(await patience.pause(tries, longestPauseMs))) throw error
    }
  }
}
