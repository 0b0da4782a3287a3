import { type Clock, systemClock } from '../clock.ts'
import type { StatusEvent } from '../records/generated.ts'

interface Waiting {
  event: StatusEvent
  bytes: number
  done: () => void
  failed: (error: unknown) => void
}

/** Lets callbacks that arrive together share one publish. */
export interface SharedPublish {
  /** Settles with the publish that carries this event. `bytes`: its size as it arrived. */
  add(event: StatusEvent, bytes: number): Promise<void>
  /** Resolves when nothing waits or is in flight. */
  idle(): Promise<void>
}

// A publish becomes at most one record batch a partition; brokers refuse batches past 1 MB.
const MOST_BYTES = 512 * 1024

/**
 * One publish is in flight; the next takes all that wait by then, up to 512 KiB of bodies. A publish that fails, or does
 * not settle within `timeoutMs`, fails the events it carried and no others.
 */
export function sharePublish(
  publish: (events: StatusEvent[]) => Promise<void>,
  timeoutMs: number,
  clock: Clock = systemClock,
): SharedPublish {
  const waiting: Waiting[] = []
  let flight: Promise<void> | null = null

  async function fly(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchLength(waiting))
      try {
        await inTime(publish(batch.map(({ event }) => event)), timeoutMs, clock)
        for (const { done } of batch) done()
      } catch (error) {
        for (const { failed } of batch) failed(error)
      }
    }
    flight = null
  }

  return {
    add: (event, bytes) =>
      new Promise((done, failed) => {
        waiting.push({ event, bytes, done, failed })
        flight ??= fly()
      }),
    idle: () => flight ?? Promise.resolve(),
  }
}

function batchLength(waiting: Waiting[]): number {
  let bytes = 0
  const first = waiting.findIndex((next, index) => {
    bytes += next.bytes
    return bytes > MOST_BYTES && index > 0
  })
  return first === -1 ? waiting.length : first
}

/** What the bus promised, or an error when it lets wait too long. */
export async function inTime(work: Promise<void>, timeoutMs: number, clock: Clock = systemClock): Promise<void> {
  let cancel = () => {}
  const tooLate = new Promise<never>((_, reject) => {
    cancel = clock.after(timeoutMs, () => reject(new Error(`the bus did not confirm within ${timeoutMs} ms`)))
  })
  try {
    await Promise.race([work, tooLate])
  } finally {
    cancel()
  }
}
