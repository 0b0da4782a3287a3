import { type Clock, limited, sleep, systemClock } from '../clock.ts'

interface Waiting<T> {
  item: T
  bytes: number
  done: () => void
  failed: (error: Error) => void
}

/** Combines callbacks that arrive together in one publish. */
export interface SharedPublish<T> {
  /** Settles with the publish that carries the item. `bytes`: its size. */
  add(item: T, bytes: number): Promise<void>
  /** Resolves when everything added so far is settled. */
  idle(): Promise<void>
}

export interface ShareOptions {
  timeoutMs: number
  /**
   * Least time between the starts of two publishes: a single callback goes at once, and at high load more callbacks share a
   * publish.
   */
  everyMs: number
  /** Called with the outcome of each publish; null when confirmed. */
  settled?: ((error: Error | null) => void) | undefined
}

// every callback of a publish waits for all of it
const mostBytes = 512 * 1024

/**
 * One publish is in flight; the next takes everything that waits, up to 512 KiB. A failed publish fails only its own items. A
 * publish that exceeds `timeoutMs` also fails the waiting items, and all later ones until it settles, so that nothing piles
 * up on a stuck bus and is published long after it was given up.
 */
export function sharePublish<T>(
  publish: (items: T[]) => Promise<void>,
  { timeoutMs, everyMs, settled = () => {} }: ShareOptions,
  clock: Clock = systemClock,
): SharedPublish<T> {
  const waiting: Waiting<T>[] = []
  let running: Promise<void> | null = null
  let stuck = false
  let begun = Number.NEGATIVE_INFINITY

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const early = begun + everyMs - clock.monotonic()
      if (early > 0) await sleep(clock, early)
      begun = clock.monotonic()
      const batch = waiting.splice(0, batchLength(waiting))
      const work = publish(batch.map(({ item }) => item))
      try {
        await limited(clock, timeoutMs, work, () => giveUp(work))
        for (const { done } of batch) done()
        settled(null)
      } catch (error) {
        const failing = stuck ? [...batch, ...waiting.splice(0)] : batch
        settled(error as Error)
        for (const { failed } of failing) failed(error as Error)
      }
    }
    running = null
  }

  function giveUp(work: Promise<void>): Error {
    stuck = true
    const ended = () => {
      stuck = false
    }
    work.then(ended, ended)
    return tooLate()
  }

  const tooLate = () =>
    Object.assign(new Error(`the bus has not confirmed a publish within ${timeoutMs} ms`), { code: 'PUBLISH_TIMEOUT' })

  return {
    add(item, bytes) {
      if (stuck) return Promise.reject(tooLate())
      return new Promise((done, failed) => {
        waiting.push({ item, bytes, done, failed })
        running ??= run()
      })
    },
    idle: () => running ?? Promise.resolve(),
  }
}

function batchLength(waiting: readonly { bytes: number }[]): number {
  let bytes = 0
  const first = waiting.findIndex((next, index) => {
    bytes += next.bytes
    return bytes > mostBytes && index > 0
  })
  return first === -1 ? waiting.length : first
}
