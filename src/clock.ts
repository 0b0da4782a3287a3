/** Time as the program sees it: real in production, virtual in simulations. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that never jump back, since an arbitrary instant. */
  monotonic(): number
  /** Calls back once after `ms`; the returned function cancels. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.max(0, ms)) // Node warns of a time that is over
    return () => clearTimeout(timer)
  },
}

export function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise(resolve => {
    clock.after(ms, resolve)
  })
}

/** Waits for work to end. @throws Error with this message where it takes longer than `ms`; the work itself goes on */
export function limited<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  message = `no answer within ${ms / 1000} s`,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(message)))
    work.then(resolve, reject).finally(cancel)
  })
}
