/** Why an account pauses. */
export type PauseReason = 'denied' | 'throttled' | 'unreachable' | 'undecided'

export interface Admission {
  /** Milliseconds until the next envelope may be formed; Infinity while a probe is on its way. */
  wait: number
  /** Operations it may carry at most: one when it is a probe. */
  operations: number
}

/** After this many envelopes in a row that nobody can tell of, the account pauses. */
const undecidedInARow = 3
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

  /** An envelope leaves. @returns whether it is the probe. */
  leave(): boolean {
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
    if (!probe) return false
    this.#state = 'closed'
    this.#pauses = 0
    return true
  }

  /** Nobody can tell. @returns the milliseconds of the pause this caused, or null. */
  undecided(probe: boolean, now: number): number | null {
    this.#undecided++
    return probe || this.#undecided >= undecidedInARow ? this.pause('undecided', probe, now) : null
  }

  /** @returns the milliseconds of the pause, or null when the account is paused already. */
  pause(reason: PauseReason, probe: boolean, now: number, retryAfterMs: number | null = null): number | null {
    if (this.#state !== 'closed' && !probe) return null
    const backoff = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#pauses, 10))
    const pause = retryAfterMs || backoff * (0.5 + this.#random() / 2) // a "now" of the other side is no pause
    this.#state = 'paused'
    this.#reason = reason
    this.#until = now + pause
    this.#pauses++
    return pause
  }
}
