import { setImmediate } from 'node:timers/promises'

/** Work that yields every few milliseconds, so that the event loop is not blocked. */
export type Steps<T> = Generator<undefined, T>

/** Bytes of work between two yields. */
export const stretchBytes = 1024 * 1024

/** Weight of a compressed byte in bytes of work: a block may decompress to little and still takes time. */
export const packedWeight = 4

export function runNow<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

export async function runYielding<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await yieldToEventLoop()
  }
}

let workedOn = 0

/** Counts bytes of synchronous work. @returns whether to yield now */
export function isYieldDue(bytes: number): boolean {
  workedOn += bytes
  return workedOn >= stretchBytes
}

export async function yieldToEventLoop(): Promise<void> {
  workedOn = 0
  await setImmediate()
}
