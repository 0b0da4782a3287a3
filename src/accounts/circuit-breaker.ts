import { backOffMs } from '../back-off.ts'
import type { PauseReason } from '../telemetry/labels.ts'

interface Admission {
  /** Milliseconds until the next envelope may be formed; Infinity while a probe is in flight. */
  wait: number
  /** Most operations of the envelope; one for a probe. */
  operations: number
}

/** Consecutive envelopes without an outcome, or refused with an unknown text, after which the account is held back. */
const mostInARow = 3
const firstPauseMs = 500
const longestPauseMs = 30_000

/**
 * One account's circuit breaker. Closed, it lets envelopes pass; paused, none. After the pause, a probe with a single
 * operation goes out; its outcome closes the breaker or doubles the pause. A pause for throttling ends without a probe.
 */
export class CircuitBreaker {
  readonly #random: () => number
  #state: 'closed' | 'paused' | 'probing' = 'closed'
  #reason: PauseReason = 'unreachable'
  #until = 0
  #pauses = 0
  #inARow = { undecided: 0, refused: 0 }

  /** @param random 0 to 1; jitter for pauses */
  constructor(random: () => number) {
    this.#random = random
  }

  get reason(): PauseReason | null {
    return this.#state === 'closed' ? null : this.#reason
  }

  get state() {
    return this.#state
  }

  admission(now: number): Admission {
    if (this.#state === 'closed') return { wait: 0, operations: Number.POSITIVE_INFINITY }
    if (this.#state === 'probing') return { wait: Number.POSITIVE_INFINITY, operations: 0 }
    const operations = this.#reason === 'throttled' ? Number.POSITIVE_INFINITY : 1
    return { wait: Math.max(0, this.#until - now), operations }
  }

  /** Call it before sending an envelope. @returns whether the envelope is the probe */
  permit(): boolean {
    if (this.#state !== 'paused') return false
    this.#state = 'probing'
    return true
  }

  /** The envelope was not sent, for a reason unrelated to the account. */
  returnPermit(probe: boolean): void {
    if (probe) this.#state = 'paused'
  }

  /** The gateway answered. @returns whether this ended a pause */
  passed(probe: boolean): boolean {
    this.#inARow = { undecided: 0, refused: 0 }
    if (probe) this.#state = 'closed'
    if (this.#state === 'closed') this.#pauses = 0
    return probe
  }

  /** The gateway answered for the balance; this does not end a pause for refused command envelopes. @returns as `passed` */
  balanceAnswered(probe: boolean): boolean {
    this.#inARow.undecided = 0
    if (this.#state === 'closed' || this.#reason !== 'refused') return probe && this.passed(probe)
    this.returnPermit(probe)
    return false
  }

  /**
   * The gateway answered a status poll. This ends a pause whose time is over, except one for refused command envelopes.
   * @returns whether this ended a pause
   */
  pollAnswered(now: number): boolean {
    this.#inARow.undecided = 0
    const isOver = this.#state === 'paused' && this.#reason !== 'refused' && now >= this.#until
    return isOver && this.passed(true)
  }

  /**
   * The outcome is unknown, or the envelope was refused for an unknown reason.
   * @returns milliseconds of the pause that this causes, or null
   */
  failed(how: 'undecided' | 'refused', probe: boolean, now: number): number | null {
    this.#inARow[how]++
    return probe || this.#inARow[how] >= mostInARow ? this.pause(how, probe, now) : null
  }

  /** @returns milliseconds of the pause, or null if the account is paused already */
  pause(why: PauseReason, probe: boolean, now: number, retryAfterMs: number | null = null): number | null {
    if (this.#state !== 'closed' && !probe) return null
    const longest = backOffMs(firstPauseMs, longestPauseMs, this.#pauses + 1)
    const ms = retryAfterMs || longest * (0.5 + this.#random() / 2) // Retry-After: 0 must not prevent the back-off
    this.#pauses++
    this.#state = 'paused'
    this.#reason = why
    this.#until = now + ms
    return ms
  }
}
