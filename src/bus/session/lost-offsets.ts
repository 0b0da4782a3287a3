import type { Checkpoint } from './checkpoint.ts'
import type { Ledger } from './ledger.ts'
import { DONE, IN_DOUBT, INTENT } from './window.ts'

/** Offsets that the log lost before they were done. */
export interface LostOffsets {
  /** Number of offsets that were certainly not sent, and their ranges, first and last offset each, in order. */
  unsent: number
  unsentRanges: [first: number, last: number][]
  /** Number of offsets that were perhaps sent. */
  perhapsSent: number
  /** Whether the log lost its end instead of its beginning. */
  isEnd?: boolean
}

/** The range that the log lost. */
export interface Gone {
  from?: number
  to: number
  /** Whether the record of an offset is still available. Default: none is. */
  isKept?: (offset: number) => boolean
  /** Offsets before this one were read. */
  readTo?: number
}

/**
 * Marks lost offsets as done and counts what was unfinished. Intents of this process are not lost: the ledger publishes their
 * outcomes.
 */
export function loseOffsets(
  { window, uncheckedUntil }: Pick<Checkpoint, 'window' | 'uncheckedUntil'>,
  ledger: Ledger,
  { from = 0, to, isKept = () => false, readTo = 0 }: Gone,
): LostOffsets {
  const lost: LostOffsets = { unsent: 0, unsentRanges: [], perhapsSent: 0 }
  const begin = Math.max(from, window.base)
  const known = Math.min(to, Math.max(window.horizon, window.base + window.length))
  for (let offset = begin; offset < known; offset++) {
    const state = window.get(offset)
    if (state === DONE || isKept(offset)) continue
    if (state === INTENT) ledger.orphan(offset)
    else if (state === IN_DOUBT) lost.perhapsSent++
    // when a record is taken in, it is compared with the results
    else addUnsent(lost, offset, offset + 1, offset < window.horizon ? 0 : uncheckedUntil)
    window.set(offset, DONE)
  }
  addUnsent(lost, Math.max(begin, known, readTo), to, uncheckedUntil)
  return lost
}

export const hasLoss = ({ unsent, perhapsSent }: LostOffsets): boolean => unsent + perhapsSent > 0

/** Counts offsets that no window marks as sent; those before `uncheckedUntil` may have been answered. */
function addUnsent(lost: LostOffsets, from: number, to: number, uncheckedUntil: number): void {
  const first = Math.min(to, Math.max(from, uncheckedUntil))
  lost.perhapsSent += Math.max(0, first - from)
  if (first >= to) return
  lost.unsent += to - first
  const last = lost.unsentRanges.at(-1)
  if (last?.[1] === first - 1) last[1] = to - 1
  else lost.unsentRanges.push([first, to - 1])
}
