import type { Clock } from '../../clock.ts'
import { type Checkpoint, unpackCheckpoint } from './checkpoint.ts'
import type { Committed, PartitionDriver } from './driver.ts'
import type { Ledger } from './ledger.ts'
import { isAny, type LostOffsets, loseOffsets } from './lost-offsets.ts'
import { IN_DOUBT, INTENT, NEW, Window } from './window.ts'

/*
 * What a session takes over: which checkpoint counts, how much of it the log still holds, and what its intents mean, which
 * another process left, or an earlier session of this one.
 */

export interface TakeOverOptions {
  driver: PartitionDriver
  /** Outlives this session. */
  ledger: Ledger
  /** Names this process; another one's intents are in doubt. */
  tag: string
  clock: Clock
  /** The place to start where the group has no checkpoint. */
  startAt: (low: number) => number
  /**
   * Up to where a log that ends at `high` now still holds what was read of it up to `end`.
   * @throws Error while that is unsure
   */
  shortTo: (end: number, high: number) => number
  /** How far back to begin, in milliseconds, where the log ends before the checkpoint. */
  lookBackMs: number
  /** Is told of offsets that are gone from the log before they were done. @throws Error when the session may not go on */
  dataLost: (lost: LostOffsets) => void
  /** What this process knows of the partition's checkpoints. */
  known: KnownCheckpoints
}

export interface KnownCheckpoints {
  /** The sequence number that was found when the partition was taken over; null: it is being taken over. */
  foundSeq: number | null
  /** The last commit that was confirmed since then; null: none was. */
  confirmed: Committed | null
}

export interface FoundCheckpoint {
  /** The checkpoint that counts. */
  newest: Checkpoint
  /** Whether this process wrote it. */
  own: boolean
  /** The log holds offsets from `low` on, and the next record gets `high`. */
  low: number
  high: number
  /** Up to where the log holds what was read of it. */
  stays: number
  /** Where to begin instead, if the log ends before the checkpoint. */
  startAnew: number | null
  /** The sequence number that the bus told. */
  foundSeq: number
  /** Whether the bus told an older checkpoint than it had confirmed. */
  stale: boolean
  /** The offset that the bus told; null: there is no checkpoint. */
  committed: number | null
}

/** Fences whoever had the partition before, and finds what was known of it. */
export async function findCheckpoint(options: TakeOverOptions): Promise<FoundCheckpoint> {
  const { driver, startAt, shortTo, clock, lookBackMs, tag } = options
  const { committed, low, high } = await driver.acquire()
  const told = unpackCheckpoint(committed?.offset ?? startAt(low), committed?.metadata, high)
  const newest = newestOf(told, committed !== null, options)
  const { window } = newest
  const stays = shortTo(window.base + window.length, high)
  const startAnew = window.base > stays ? await driver.offsetAt(Math.max(0, clock.now() - lookBackMs)) : null
  return {
    newest,
    own: newest.tag === tag,
    low,
    high,
    stays,
    startAnew,
    foundSeq: told.seq,
    stale: committed !== null && newest !== told,
    committed: committed?.offset ?? null,
  }
}

/**
 * Takes what was found for this process's own.
 * @returns the checkpoint as far as the log still holds its offsets, and whether a later owner would find another one
 * @throws Error when the session may not go on because offsets are gone
 */
export function takeCheckpoint(
  { newest, own, low, high, stays, startAnew, committed }: FoundCheckpoint,
  { ledger, dataLost }: TakeOverOptions,
): { checkpoint: Checkpoint; isNew: boolean } {
  const { window } = newest
  const end = window.base + window.length
  const takenBack = own && takeBack(newest, ledger)
  if (!own) takeOver(newest, ledger)
  let checkpoint = newest
  if (stays < end) {
    dataLost({ ...loseOffsets(newest, ledger, { from: stays, to: end }), isEnd: true })
    window.forgetFrom(stays)
    checkpoint = {
      ...newest,
      window: startAnew === null ? window : new Window(startAnew),
      uncheckedUntil: Math.max(startAnew === null ? newest.uncheckedUntil : high, end),
    }
  }
  const lost = loseOffsets(checkpoint, ledger, { to: low })
  if (isAny(lost)) dataLost(lost)
  checkpoint.window.skipTo(low)
  return { checkpoint, isNew: takenBack || stays < end || committed !== checkpoint.window.base }
}

/**
 * The checkpoint that counts: the one that was committed last, whoever wrote it. What the bus tells can be older: a
 * broker that stops right after it confirmed a transaction can lose the offset in it (seen with Kafka 4.3.0 on one node:
 * the results were there, their progress was not). Then what was confirmed to this process counts. A checkpoint of
 * another process is no older one, unless it is the one that this process found when it took the partition over. That
 * there is none is believed: the topic was made anew, or somebody took the group's offsets away. The sequence goes on.
 */
function newestOf(
  told: Checkpoint,
  isThere: boolean,
  { known: { confirmed, foundSeq }, tag }: TakeOverOptions,
): Checkpoint {
  if (!confirmed || foundSeq === null) return told
  const own = unpackCheckpoint(confirmed.offset, confirmed.metadata)
  if (!isThere) return { ...told, seq: own.seq }
  return told.seq >= (told.tag === tag ? own.seq : foundSeq + 1) ? told : own
}

/**
 * Another process's intents: perhaps sent. What this process knew of an earlier ownership is no longer its to tell,
 * unless there is no other process: then the records are gone with the checkpoint.
 */
function takeOver({ window, tag }: Checkpoint, ledger: Ledger): void {
  if (tag) ledger.clear()
  else for (const number of ledger.numbers()) if (number >= 0) ledger.orphan(number)
  for (let offset = window.base; offset < window.base + window.length; offset++) {
    if (window.get(offset) === INTENT) window.set(offset, IN_DOUBT)
  }
}

/**
 * This process's own intents: the ledger knows which of them were POSTed; the others never were.
 * @returns whether there were such others
 */
function takeBack({ window, seq }: Checkpoint, ledger: Ledger): boolean {
  let takenBack = false
  ledger.landed(seq)
  for (let offset = window.base; offset < window.base + window.length; offset++) {
    if (window.get(offset) !== INTENT || ledger.has(offset)) continue
    window.set(offset, NEW)
    takenBack = true
  }
  for (const offset of ledger.numbers()) if (offset >= 0 && window.get(offset) !== INTENT) ledger.remove(offset)
  return takenBack
}
