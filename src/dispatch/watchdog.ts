import type { SessionState } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Telemetry } from '../telemetry/events.ts'

export interface WatchdogOptions {
  sessions: () => Iterable<SessionState>
  /** Whether something known keeps commands back: a pause, a rate, a registry that cannot be asked. */
  heldBack: () => boolean
  /** gateway.timeoutMs: so long a request may take. */
  timeoutMs: number
  clock: Clock
  telemetry: Telemetry
  /** A partition has made no progress for too long, and nothing explains it. */
  stuck: (error: Error) => void
}

/** Longer than any wait of a healthy worker but a request's own: rebalances, drains, brokers that come back. */
const leastPatienceMs = 300_000
const checkMs = 10_000

/**
 * A worker that has work and does none must not stay alive: its supervisor can cure what a session cannot.
 * Progress is a commit on the partition, or having nothing to do. @returns a function that ends the watch.
 */
export function watchProgress({ sessions, heldBack, timeoutMs, clock, telemetry, stuck }: WatchdogOptions): () => void {
  const patienceMs = Math.max(leastPatienceMs, 2 * timeoutMs)
  const lastProgress = new Map<string, number>()
  const keyOf = (tp: { topic: string; partition: number }) => `${tp.topic}/${tp.partition}`
  const committed = (tp: { topic: string; partition: number }) => lastProgress.set(keyOf(tp), clock.monotonic())
  telemetry.on('cycle.committed', committed)

  let cancel = clock.after(checkMs, check)
  function check(): void {
    const now = clock.monotonic()
    const excused = heldBack()
    const owned = [...sessions()]
    for (const session of owned) {
      const key = keyOf(session)
      const idle = session.open && session.lag === 0
      if (excused || idle || !lastProgress.has(key)) lastProgress.set(key, now)
    }
    const keys = new Set(owned.map(keyOf))
    for (const [key, since] of lastProgress) {
      if (!keys.has(key)) lastProgress.delete(key)
      else if (now - since > patienceMs)
        stuck(new Error(`no progress on ${key} for ${patienceMs / 1000} s, for no known reason`))
    }
    cancel = clock.after(checkMs, check)
  }

  return () => {
    cancel()
    telemetry.off('cycle.committed', committed)
  }
}
