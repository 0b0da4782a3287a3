import type { Bus } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import { safeText } from '../telemetry/error.ts'

/** How often topics are checked, so that a receiver without callbacks notices an outage and its end. */
const lookMs = 2_000
/** How long a failed publish counts as an outage. Some causes, such as missing replicas, do not show in metadata. */
const failureMs = 10_000

/** Watches whether the receiver's topics are writable: by the outcome of each publish, and by their metadata. */
export function watchWrites(bus: Pick<Bus, 'lookAt'>, topics: readonly string[], clock: Clock) {
  let trouble: string | null = null
  let failedAt = Number.NEGATIVE_INFINITY
  let isClosed = false
  let cancel = () => {}

  async function look(): Promise<void> {
    try {
      for (const topic of topics) {
        const look = await bus.lookAt(topic)
        if (look === null) throw new Error(`${topic} does not exist: create it with busgate topics create`)
        if (look.leaderless.length > 0) throw new Error(`${topic} has partitions without a leader: start their brokers`)
      }
      if (clock.monotonic() - failedAt >= failureMs) trouble = null
    } catch (error) {
      trouble = safeText((error as Error).message)
    }
    lookLater()
  }

  function lookLater(): void {
    if (!isClosed) cancel = clock.after(lookMs, () => void look())
  }

  lookLater()
  return {
    /** Why the topics are not writable; null if they are. */
    trouble: () => trouble,
    published(error: Error | null): void {
      trouble = error && safeText(error.message)
      failedAt = error ? clock.monotonic() : Number.NEGATIVE_INFINITY
    },
    close(): void {
      isClosed = true
      cancel()
    },
  }
}
