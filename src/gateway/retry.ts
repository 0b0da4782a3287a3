import { setTimeout as sleep } from 'node:timers/promises'
import type { GatewayError } from './errors.ts'

const firstDelayMs = 250
const longestDelayMs = 10_000
/** Whoever asks for a longer pause gets no further attempt: the caller decides. */
const longestRetryAfterMs = 30_000

/** Null stands for what went well. */
type Errors = readonly (GatewayError | null)[]

/**
 * Repeats an attempt while one of the errors it met is retryable and attempts are left, and answers what the last one
 * did. An abort ends the pause at once; what it means is the next attempt's to tell.
 */
export async function withRetries<A extends { errors: Errors }>(
  retries: number,
  signal: AbortSignal | undefined,
  attempt: (number: number) => Promise<A>,
): Promise<A> {
  for (let number = 1; ; number++) {
    const latest = await attempt(number)
    const delay = delayAfter(latest.errors, number)
    if (delay === null || number > retries) return latest
    await sleep(delay, undefined, { signal }).catch(() => {})
  }
}

/**
 * Milliseconds until the next attempt, or null when there is nothing to be tried again. Doubles with each attempt, any
 * part of it by chance, so that clients that failed together do not come back together; what Retry-After asks for is
 * added.
 */
export function delayAfter(errors: Errors, attempt: number, random = Math.random): number | null {
  const retryable = errors.filter(error => error?.retryable)
  if (retryable.length === 0) return null
  const asked = Math.max(...retryable.map(error => error?.retryAfterMs ?? 0))
  if (asked > longestRetryAfterMs) return null
  return asked + random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1))
}
