import type { Clock } from '../clock.ts'

/** Source of the sandbox's time: `now` in milliseconds since 1970, and `after` for timers. */
export type SandboxClock = Pick<Clock, 'now' | 'after'>

export type Timers = ReturnType<typeof createTimers>

/** The timers of one sandbox. After `stop`, none fires or starts. */
export function createTimers(clock: SandboxClock) {
  const pending = new Set<() => void>()
  let stopped = false
  return {
    now: () => clock.now(),
    after(ms: number, run: () => void): void {
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
