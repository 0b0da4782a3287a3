import { backOffMs } from '../../back-off.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { Api } from './apis.ts'
import type { Brokers, Target } from './brokers.ts'
import type { Line } from './channels.ts'

/** Limit of all retries together. A leader election, or the end of an open transaction, takes less. */
const limitMs = 12_000
/** Time-out per request: a coordinator that is alive answers much sooner. */
const answerMs = 4000
const leastMs = 500
/** First back-off; it doubles with each retry. */
const firstPauseMs = 2
const longestPauseMs = 50

/** A common limit for the retries of several requests: a deadline, or the moment at which one of them has failed for good. */
export class RetryBudget {
  readonly #clock: Clock
  readonly #until: number
  #over = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#until = clock.monotonic() + limitMs
  }

  /** Time-out of the next attempt in milliseconds: `most`, or the time left, but never too short to succeed. */
  within(most: number): number {
    return Math.max(leastMs, Math.min(most, this.#until - this.#clock.monotonic()))
  }

  end(): void {
    this.#over = true
  }

  /** Backs off before a retry. @param tries number of attempts so far @returns whether to retry */
  async pause(tries: number, longestMs: number): Promise<boolean> {
    const ms = backOffMs(firstPauseMs, longestMs, tries + 1)
    if (this.#over || this.#clock.monotonic() + ms > this.#until) return false
    await sleep(this.#clock, ms)
    return !this.#over
  }
}

export interface RetriedAsk {
  brokers: Pick<Brokers, 'ask'>
  target: Target
  /** Default: commit. */
  line?: Line | undefined
  retries: RetryBudget
  /** Whether the error is worth a retry. */
  isRetryable: (error: unknown) => boolean
}

/** Sends a request to a coordinator and retries transient refusals. @throws the last error */
export async function askWithRetries<Q extends unknown[], A>(
  { brokers, target, line = 'commit', retries, isRetryable }: RetriedAsk,
  api: Api<Q, A>,
  request: Q,
): Promise<A> {
  for (let tries = 0; ; tries++) {
    try {
      return await brokers.ask(target, api, request, { line, limitMs: retries.within(answerMs) })
    } catch (error) {
      if (!isRetryable(error) || !(await retries.pause(tries, longestPauseMs))) throw error
    }
  }
}
