import { setImmediate } from 'node:timers/promises'

/** Work that yields after each stretch of some milliseconds, so that the event loop can go on. */
export type Steps<T> = Generator<undefined, T>

/** So many bytes are worked on in a stretch. */
export const stretchBytes = 1024 * 1024

/** A packed byte counts as so many: it can be a block, however small. */
export const packedWeight = 4

export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

export async function withRests<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    await rest()
  }
}

let workedOn = 0

/** Counts bytes that were worked on at once. @returns whether a rest is due */
export function isRestDue(bytes: number): boolean {
  workedOn += bytes
  return workedOn >= stretchBytes
}

/** Lets the event loop go on. */
export async function rest(): Promise<void> {
  workedOn = 0
  await setImmediate()
}
