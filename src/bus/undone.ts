import { unpackCheckpoint } from './session/checkpoint.ts'
import type { Committed } from './session/driver.ts'
import { DONE, windowSize } from './session/window.ts'

/** How many offsets of a partition are not done yet, by what the group has committed. */
export interface Undone {
  offsets: number
  /** Those of them that are gone from the log: only a worker that runs may have them in memory. */
  deleted: number
}

/** @param log the first offset that the log holds, and the one after its last. @throws Error where the progress is not busgate's */
export function undoneOf(committed: Committed | null, { low, high }: { low: number; high: number }): Undone {
  if (!committed) return { offsets: high - low, deleted: 0 }
  const { window } = unpackCheckpoint(committed.offset, committed.metadata)
  const known = Math.min(Math.max(window.base + window.length, low), window.base + windowSize)
  let offsets = Math.max(0, high - Math.max(low, known))
  let deleted = 0
  for (let offset = window.base; offset < known; offset++) {
    if (window.get(offset) === DONE) continue
    offsets++
    if (offset < low) deleted++
  }
  return { offsets, deleted }
}
