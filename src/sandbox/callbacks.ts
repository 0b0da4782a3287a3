import { Agent, request } from 'undici'
import { backOffMs } from '../back-off.ts'
import type { Timers } from './clock.ts'

const timeoutMs = 10_000

/** Counts of callbacks. */
export interface CallbackCounts {
  /** POSTs, retries included. */
  sent: number
  /** Callbacks that were answered 200. */
  accepted: number
  /** Callbacks given up after the last attempt. */
  failed: number
  /** Callbacks neither accepted nor given up yet. */
  pending: number
}

export type Callbacks = ReturnType<typeof createCallbacks>

interface Options {
  callbackRetry: { tries: number; firstDelayMs: number }
  callbackConcurrency: number
}

export function createCallbacks(options: Options, timers: Timers) {
  const agent = new Agent({ connections: options.callbackConcurrency })
  const counts: CallbackCounts = { sent: 0, accepted: 0, failed: 0, pending: 0 }
  let waiting: (() => void)[] = []

  async function attempt(url: string, body: string, number: number): Promise<void> {
    counts.sent++
    if (await post(agent, url, body)) return finish('accepted')
    if (number >= options.callbackRetry.tries) return finish('failed')
    const pause = backOffMs(options.callbackRetry.firstDelayMs, Number.POSITIVE_INFINITY, number)
    timers.after(pause, () => void attempt(url, body, number + 1))
  }

  function finish(outcome: 'accepted' | 'failed'): void {
    counts[outcome]++
    if (--counts.pending > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    counts,
    /**
     * POSTs `body()` to the address after a delay, and retries until the answer is 200. `body` is called before the first
     * attempt.
     */
    schedule(url: string, body: () => string, delayMs: number): void {
      counts.pending++
      timers.after(delayMs, () => void attempt(url, body(), 1))
    },
    /** Sends a callback at once; resolves when the first attempt has ended. */
    sendNow(url: string, body: () => string): Promise<void> {
      counts.pending++
      return attempt(url, body(), 1)
    },
    /** Resolves when no callback is pending. */
    async drained(): Promise<void> {
      if (counts.pending > 0) await new Promise<void>(resolve => waiting.push(resolve))
    },
    /** Drops pending callbacks. */
    stop: (): Promise<void> => agent.destroy(),
  }
}

async function post(dispatcher: Agent, url: string, body: string): Promise<boolean> {
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      dispatcher,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    })
    await response.body.dump()
    return response.statusCode === 200
  } catch {
    return false
  }
}
