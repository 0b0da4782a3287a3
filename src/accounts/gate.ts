import type { PauseReason } from '../telemetry/labels.ts'

export interface Admission {
  /** Milliseconds until the next envelope may be formed; Infinity while a probe is on its way. */
  wait: number
  /** Operations it may carry at most: one when it is a probe. */
  operations: number
}

/** After this many envelopes in a row that nobody can tell of, the account pauses. */
const undecidedInARow = 3
/**
 * After this many envelopes in a row that were refused as a whole, with a text that nobody knows, the account pauses.
 */
const refusedInARow = 3
const firstPauseMs = 500
const longestPauseMs = 30_000

/**
 * One account's breaker. Closed, envelopes pass; paused, none; when the pause is over one probe of a single operation
 * goes out, and its outcome closes the breaker or doubles the pause. After throttling there is nothing to probe.
 */
export class AccountGate {
  readonly #random: () => number
  #state: 'closed' | 'paused' | 'probing' = 'closed'
  #reason: PauseReason = 'unreachable'
  #until = 0
  #pauses = 0
  #undecided = 0
  #refused = 0

  /** @param random 0 to 1, spreads the pauses */
  constructor(random: () => number) {
    this.#random = random
  }

  get reason(): PauseReason | null {
    return this.#state === 'closed' ? null : this.#reason
  }

  get state(): 'closed' | 'paused' | 'probing' {
    return this.#state
  }

  admission(now: number): Admission {
    if (this.#state === 'closed') return { wait: 0, operations: Number.POSITIVE_INFINITY }
    if (this.#state === 'probing') return { wait: Number.POSITIVE_INFINITY, operations: 0 }
    return {
      wait: Math.max(0, this.#until - now),
      operations: this.#reason === 'throttled' ? Number.POSITIVE_INFINITY : 1,
    }
  }

  /** The probe may go now. */
  endPause(now: number): void {
    this.#until = now
  }

  /** An envelope is about to be sent. @returns whether it is the probe. */
  permit(): boolean {
    if (this.#state !== 'paused') return false
    this.#state = 'probing'
    return true
  }

  /** The envelope that left was not sent for a reason that says nothing about the account. */
  withdraw(probe: boolean): void {
    if (probe) this.#state = 'paused'
  }

  /** An answer of the gateway came. @returns whether the account was paused until now. */
  passed(probe: boolean): boolean {
    this.#undecided = 0
    this.#refused = 0
    if (probe) this.#state = 'closed'
    if (this.#state === 'closed') this.#pauses = 0
    return probe
  }

  /** A question was answered, which says nothing about envelopes of commands that are refused. The same answer. */
  pollAnswered(probe: boolean): boolean {
    this.#undecided = 0
    if (this.reason !== 'refused') return probe && this.passed(probe)
    this.withdraw(probe)
    return false
  }

  /** Nobody can tell. @returns the milliseconds of the pause this caused, or null. */
  undecided(probe: boolean, now: number): number | null {
    this.#undecided++
    return probe || this.#undecided >= undecidedInARow ? this.pause('undecided', probe, now) : null
  }

  /** Refused as a whole, nobody knows why. @returns the milliseconds of the pause this caused, or null. */
  refused(probe: boolean, now: number): number | null {
    this.#refused++
    return probe || this.#refused >= refusedInARow ? this.pause('refused', probe, now) : null
  }

  /** @returns the milliseconds of the pause, or null when the account is paused already. */
  pause(reason: PauseReason, probe: boolean, now: number, retryAfterMs: number | null = null): number | null {
    if (this.#state !== 'closed' && !probe) return null
    const pause = retryAfterMs || this.#backoff // a "now" of the other side is no pause
    this.#pauses++
    this.#state = 'paused'
    this.#reason = reason
    this.#until = now + pause
    return pause
  }

  get #backoff(): number {
    const pause = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#pauses, 10))
    return pause * (0.5 + this.#random() / 2)
  }
}
