import { uptime } from 'node:os'

/** The program's source of time: real in production, virtual in simulations. */
export interface Clock {
  /** Milliseconds since 1970. NTP and operators step it in either direction. */
  now(): number
  /** Milliseconds since an arbitrary instant. Never jumps back; on Linux it stands still while the machine is suspended. */
  monotonic(): number
  /** Milliseconds since the machine was booted, suspended or not, with a resolution of 10 ms (Linux) to 1 s (macOS). */
  uptime(): number
  /** Calls back once after `ms`; the returned function cancels. */
  after(ms: number, callback: () => void): () => void
}

/** How far the clocks of two machines may differ that are in step. */
export const skewMs = 60_000

/** Resolution of the uptime. */
const uptimeMs = 10

/**
 * Reads the uptime again once another clock has moved: Node.js reads it from a file, which takes longer than all else that is
 * done for an envelope before its POST. A suspended machine moves the time of day.
 */
export function cachedUptime(read: () => number, now = Date.now, monotonic = () => performance.now()): () => number {
  let last = { uptime: 0, now: Number.NEGATIVE_INFINITY, monotonic: Number.NEGATIVE_INFINITY }
  return () => {
    const [time, mark] = [now(), monotonic()]
    if (Math.abs(time - last.now) >= uptimeMs || mark - last.monotonic >= uptimeMs)
      last = { uptime: read(), now: time, monotonic: mark }
    return last.uptime
  }
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  uptime: cachedUptime(() => uptime() * 1000),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.max(0, ms)) // Node warns about negative delays
    return () => clearTimeout(timer)
  },
}

/**
 * Measures the age of something that becomes unsafe to use. Takes the largest difference of all clocks, so neither a suspend
 * nor a clock step makes the age too small; a step forward makes it too large.
 * @returns a function that returns the milliseconds since the call
 */
export function stopwatch(clock: Clock): () => number {
  const now = clock.now()
  const monotonic = clock.monotonic()
  const uptime = clock.uptime()
  return () => Math.max(clock.monotonic() - monotonic, clock.uptime() - uptime, clock.now() - now)
}

/** Resolves after `ms`, or as soon as the signal is aborted. */
export function sleep(clock: Clock, ms: number, ending?: AbortSignal): Promise<void> {
  if (ending?.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const end = () => {
      cancel()
      ending?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(ms, end)
    ending?.addEventListener('abort', end)
  })
}

/** Waits for work to end. @throws the error of `late` after `ms`; the work itself continues */
export function limited<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: () => Error = () => new Error(`no answer within ${ms / 1000} s`),
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(late()))
    work.then(resolve, reject).finally(cancel)
  })
}
