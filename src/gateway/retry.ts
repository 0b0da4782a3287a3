import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayError } from './errors.ts'

const firstDelayMs = 250
const longestDelayMs = 10_000
/** Whoever asks for a longer pause gets no further attempt: the caller decides. */
const longestRetryAfterMs = 30_000

/**
 * Repeats an attempt, which answers the errors it met, while one of them is retryable and attempts are left. An abort
 * ends the pause at once; what it means is the next attempt's to tell.
 */
export async function withRetries(
  retries: number,
  signal: AbortSignal | undefined,
  attempt: (number: number) => Promise<readonly GatewayError[]>,
): Promise<void> {
  for (let number = 1; ; number++) {
    const delay = delayAfter(await attempt(number), number)
    if (delay === null || number > retries) return
    await sleep(delay, undefined, { signal }).catch(() => {})
  }
}

/**
 * Milliseconds until the next attempt, or null when there is nothing to be tried again. Doubles with each attempt, any
 * part of it by chance, so that clients that failed together do not come back together; what Retry-After asks for is
 * added.
 */
export function delayAfter(errors: readonly GatewayError[], attempt: number, random = Math.random): number | null {
  const retryable = errors.filter(error => error.retryable)
  if (retryable.length === 0) return null
  const asked = Math.max(...retryable.map(error => error.retryAfterMs ?? 0))
  if (asked > longestRetryAfterMs) return null
  return asked + random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1))
}
