/** Time as the sandbox sees it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Calls `run` once after `ms` milliseconds; the answer takes the call back. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}

/** The timers of one sandbox: after `stop` none fires and none starts. */
export interface Timers {
  now(): number
  after(ms: number, run: () => void): void
  stop(): void
}

export function createTimers(clock: Clock): Timers {
  const pending = new Set<() => void>()
  let stopped = false
  return {
    now: () => clock.now(),
    after(ms, run) {
      if (stopped) return
      const cancel = clock.after(ms, () => {
        pending.delete(cancel)
        run()
      })
      pending.add(cancel)
    },
    stop() {
      stopped = true
      for (const cancel of pending) cancel()
      pending.clear()
    },
  }
}
