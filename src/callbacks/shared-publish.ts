import { type Clock, sleep, systemClock } from '../clock.ts'

interface Waiting<T> {
  item: T
  bytes: number
  done: () => void
  failed: (error: Error) => void
}

/** Lets callbacks that arrive together share one publish. */
export interface SharedPublish<T> {
  /** Settles with the publish that carries this item. `bytes`: its size. */
  add(item: T, bytes: number): Promise<void>
  /** Resolves when everything added so far is settled. */
  idle(): Promise<void>
}

export interface ShareOptions {
  /** How long a publish may take. */
  timeoutMs: number
  /** Two publishes begin at least this long apart: a callback alone goes at once, and of many, more go together. */
  everyMs: number
  /** Hears what each publish came to; null: the bus has confirmed it. */
  settled?: ((error: Error | null) => void) | undefined
}

// All that a publish carries waits for all of it.
const mostBytes = 512 * 1024

/**
 * One publish is in flight; the next takes all that wait by then, up to 512 KiB. A publish that fails fails what it
 * carried and nothing else. One that does not settle within `timeoutMs` fails what waits behind it too, and whatever
 * comes until it settles: on a bus that is stuck nothing piles up, to be published long after it was given up.
 */
export function sharePublish<T>(
  publish: (items: T[]) => Promise<void>,
  { timeoutMs, everyMs, settled = () => {} }: ShareOptions,
  clock: Clock = systemClock,
): SharedPublish<T> {
  const waiting: Waiting<T>[] = []
  let flight: Promise<void> | null = null
  let stuck = false
  let begun = Number.NEGATIVE_INFINITY

  async function fly(): Promise<void> {
    while (waiting.length > 0) {
      const early = begun + everyMs - clock.monotonic()
      if (early > 0) await sleep(clock, early)
      begun = clock.monotonic()
      const batch = waiting.splice(0, batchLength(waiting))
      try {
        const work = publish(batch.map(({ item }) => item))
        if (await inTime(work, timeoutMs, clock)) {
          for (const { done } of batch) done()
          settled(null)
        } else giveUp(work, batch)
      } catch (error) {
        settled(error as Error)
        for (const { failed } of batch) failed(error as Error)
      }
    }
    flight = null
  }

  function giveUp(work: Promise<void>, batch: Waiting<T>[]): void {
    stuck = true
    const ended = () => {
      stuck = false
    }
    work.then(ended, ended)
    settled(tooLate())
    for (const { failed } of [...batch, ...waiting.splice(0)]) failed(tooLate())
  }

  const tooLate = () =>
    Object.assign(new Error(`the bus has not confirmed a publish within ${timeoutMs} ms`), { code: 'PUBLISH_TIMEOUT' })

  return {
    add(item, bytes) {
      if (stuck) return Promise.reject(tooLate())
      return new Promise((done, failed) => {
        waiting.push({ item, bytes, done, failed })
        flight ??= fly()
      })
    },
    idle: () => flight ?? Promise.resolve(),
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

/** False when the work has not settled within the time. @throws what the work throws by then. */
async function inTime(work: Promise<void>, timeoutMs: number, clock: Clock): Promise<boolean> {
  let cancel = () => {}
  const late = new Promise<false>(resolve => {
    cancel = clock.after(timeoutMs, () => resolve(false))
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    cancel()
  }
}
