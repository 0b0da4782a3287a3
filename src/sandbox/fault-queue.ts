import type { FaultName } from './faults.ts'

/** The faults that the next requests meet, first come, first served. */
export interface FaultQueue {
  /** The next `count` requests to the gateway's endpoint meet `fault`; with Infinity all of them until `clear`. */
  next(fault: FaultName, count?: number): void
  clear(): void
}

export function createFaultQueue(): FaultQueue & { take(): FaultName | undefined } {
  let queue: { fault: FaultName; left: number }[] = []
  return {
    next(fault, count = 1) {
      if (count > 0) queue.push({ fault, left: count })
    },
    take() {
      const first = queue[0]
      if (first && --first.left === 0) queue.shift()
      return first?.fault
    },
    clear() {
      queue = []
    },
  }
}
