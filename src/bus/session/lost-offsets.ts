import type { LostRange } from '../port.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { Ledger } from './ledger.ts'
import { DONE, IN_DOUBT, INTENT } from './window.ts'

/** Offsets that the log lost before they were done. */
export interface LostOffsets {
  /** In the order of their offsets. */
  ranges: LostRange[]
  /** Set if the log lost its end instead of its beginning: it now ends at `from`, and had been processed up to `to`. */
  end?: { from: number; to: number }
  /** Set if the whole log was lost with its topic, which was made anew. */
  anew?: true
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
 * Marks lost offsets as done and counts what was unfinished, except what was counted before. Intents of this process are not
 * lost: the ledger publishes their outcomes.
 */
export function loseOffsets(
  checkpoint: Pick<Checkpoint, 'window' | 'uncheckedUntil' | 'told'>,
  ledger: Ledger,
  { from = 0, to, isKept = () => false, readTo = 0 }: Gone,
): LostOffsets {
  const { window, uncheckedUntil, told } = checkpoint
  const lost: LostOffsets = { ranges: [] }
  const begin = Math.max(from, window.base)
  const known = Math.min(to, Math.max(window.horizon, window.base + window.length))
  for (let offset = begin; offset < known; offset++) {
    const state = window.get(offset)
    if (state === DONE || isKept(offset)) continue
    if (state === INTENT) ledger.orphan(offset)
    else if (state === IN_DOUBT) add(lost, 'perhapsSent', offset, offset + 1)
    else add(lost, offset < uncheckedUntil ? 'unchecked' : 'unsent', offset, offset + 1)
    window.set(offset, DONE)
  }
  const unread = Math.max(begin, known, readTo)
  const addUnread = (first: number, last: number) => {
    const unchecked = Math.min(last, Math.max(first, uncheckedUntil))
    add(lost, 'unchecked', first, unchecked)
    add(lost, 'unread', unchecked, last)
  }
  if (to <= unread) return lost
  if (told === null || told.to < unread) {
    addUnread(unread, to)
    checkpoint.told = { from: unread, to }
    return lost
  }
  addUnread(unread, Math.min(told.from, to))
  addUnread(Math.max(unread, told.to), to)
  checkpoint.told = { from: Math.min(told.from, unread), to: Math.max(told.to, to) }
  return lost
}

export const hasLoss = ({ ranges }: LostOffsets): boolean => ranges.length > 0

/** Number of lost offsets of one kind. */
export const countOf = ({ ranges }: LostOffsets, kind: LostRange['kind']): number =>
  ranges.reduce((sum, range) => sum + (range.kind === kind ? range.last - range.first + 1 : 0), 0)

/** The offsets of some kinds as text, such as `0-11, 13`. */
export function textOf({ ranges }: LostOffsets, ...kinds: LostRange['kind'][]): string {
  const wanted = ranges.filter(({ kind }) => kinds.includes(kind))
  return wanted.map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`)).join(', ')
}

function add({ ranges }: LostOffsets, kind: LostRange['kind'], from: number, to: number): void {
  if (from >= to) return
  const previous = ranges.at(-1)
  if (previous?.kind === kind && previous.last === from - 1) previous.last = to - 1
  else ranges.push({ kind, first: from, last: to - 1 })
}
