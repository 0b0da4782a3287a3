import { systemClock as clock, limited, sleep } from '../clock.ts'

interface Waiting<T> {
  item: T
  done: () => void
  failed: (error: Error) => void
}

/** Combines callbacks that arrive together in one publish. */
export type SharedPublish<T> = ReturnType<typeof sharePublish<T>>

interface ShareOptions {
  timeoutMs: number
  /**
   * Least time between the starts of two publishes: a single callback goes at once, and at high load more callbacks share a
   * publish.
   */
  everyMs: number
  /** Called with the outcome of each publish; null when confirmed. */
  settled?: ((error: Error | null) => void) | undefined
}

/**
 * One publish is in flight; the next takes everything that waits. A failed publish fails only its own items. A publish that
 * exceeds `timeoutMs` also fails the waiting items, and all later ones until it settles, so that nothing piles up on a stuck
 * bus and is published long after it was given up.
 */
export function sharePublish<T>(
  publish: (items: T[]) => Promise<void>,
  { timeoutMs, everyMs, settled = () => {} }: ShareOptions,
) {
  const waiting: Waiting<T>[] = []
  let running: Promise<void> | null = null
  let stuck = false
  let begun = Number.NEGATIVE_INFINITY

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const early = begun + everyMs - clock.monotonic()
      if (early > 0) await sleep(clock, early)
      begun = clock.monotonic()
      const batch = waiting.splice(0)
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
    /** Settles with the publish that carries the item. */
    add(item: T): Promise<void> {
      if (stuck) return Promise.reject(tooLate())
      return new Promise((done, failed) => {
        waiting.push({ item, done, failed })
        running ??= run()
      })
    },
    /** Resolves when everything added so far is settled. */
    idle: (): Promise<void> => running ?? Promise.resolve(),
  }
}
