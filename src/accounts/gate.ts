import type { PauseReason } from '../telemetry/labels.ts'

interface Admission {
  /** Milliseconds until the next envelope may be formed; Infinity while a probe is in flight. */
  wait: number
  /** Most operations of the envelope; one for a probe. */
  operations: number
}

/** Consecutive envelopes without an outcome, or refused with an unknown text, after which the account pauses. */
const mostInARow = 3
const firstPauseMs = 500
const longestPauseMs = 30_000

export type AccountGate = ReturnType<typeof accountGate>

/**
 * One account's circuit breaker. Closed, it lets envelopes pass; paused, none. After the pause, a probe with a single
 * operation goes out; its outcome closes the breaker or doubles the pause. A pause for throttling ends without a probe.
 * @param random 0 to 1; jitter for pauses
 */
export function accountGate(random: () => number) {
  let state: 'closed' | 'paused' | 'probing' = 'closed'
  let reason: PauseReason = 'unreachable'
  let until = 0
  let pauses = 0
  let inARow = { undecided: 0, refused: 0 }

  /** The envelope was not sent, for a reason unrelated to the account. */
  function withdraw(probe: boolean): void {
    if (probe) state = 'paused'
  }

  /** The gateway answered. @returns whether this ended a pause */
  function passed(probe: boolean): boolean {
    inARow = { undecided: 0, refused: 0 }
    if (probe) state = 'closed'
    if (state === 'closed') pauses = 0
    return probe
  }

  /** @returns milliseconds of the pause, or null if the account is paused already */
  function pause(why: PauseReason, probe: boolean, now: number, retryAfterMs: number | null = null): number | null {
    if (state !== 'closed' && !probe) return null
    const backoff = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(pauses, 10)) * (0.5 + random() / 2)
    const ms = retryAfterMs || backoff // Retry-After: 0 must not prevent the back-off
    pauses++
    state = 'paused'
    reason = why
    until = now + ms
    return ms
  }

  return {
    get reason(): PauseReason | null {
      return state === 'closed' ? null : reason
    },
    get state() {
      return state
    },
    admission(now: number): Admission {
      if (state === 'closed') return { wait: 0, operations: Number.POSITIVE_INFINITY }
      if (state === 'probing') return { wait: Number.POSITIVE_INFINITY, operations: 0 }
      return { wait: Math.max(0, until - now), operations: reason === 'throttled' ? Number.POSITIVE_INFINITY : 1 }
    },
    /** Call it before sending an envelope. @returns whether the envelope is the probe */
    permit(): boolean {
      if (state !== 'paused') return false
      state = 'probing'
      return true
    },
    withdraw,
    passed,
    /** The gateway answered a question; this does not end a pause for refused command envelopes. @returns as `passed` */
    pollAnswered(probe: boolean): boolean {
      inARow.undecided = 0
      if (state === 'closed' || reason !== 'refused') return probe && passed(probe)
      withdraw(probe)
      return false
    },
    /**
     * The outcome is unknown, or the envelope was refused for an unknown reason.
     * @returns milliseconds of the pause that this causes, or null
     */
    failed(how: 'undecided' | 'refused', probe: boolean, now: number): number | null {
      inARow[how]++
      return probe || inARow[how] >= mostInARow ? pause(how, probe, now) : null
    },
    pause,
  }
}
