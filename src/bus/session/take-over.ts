import type { Clock } from '../../clock.ts'
import { type Checkpoint, unpackCheckpoint } from './checkpoint.ts'
import type { Committed, PartitionDriver } from './driver.ts'
import type { Ledger } from './ledger.ts'
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
  /** Is told how many offsets that were not done are gone from the log. @throws Error when the session may not go on */
  dataLost: (count: number) => void
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
  /** The checkpoint that counts, as far as the log still holds its offsets. */
  checkpoint: Checkpoint
  /** The log holds offsets from `low` on, and the next record gets `high`. */
  low: number
  high: number
  /** The sequence number that the bus told. */
  foundSeq: number
  /** Whether the bus told an older checkpoint than it had confirmed. */
  stale: boolean
  /** Whether it is not what the bus holds: a later owner would come to it anew. */
  isNew: boolean
}

/** Fences whoever had the partition before, and finds what was known of it. */
export async function findCheckpoint(options: TakeOverOptions): Promise<FoundCheckpoint> {
  const { committed, low, high } = await options.driver.acquire()
  const told = unpackCheckpoint(committed?.offset ?? options.startAt(low), committed?.metadata, high)
  const newest = newestOf(told, committed !== null, options)
  const checkpoint = await within({ low, high }, newest, options)
  return {
    checkpoint,
    low,
    high,
    foundSeq: told.seq,
    stale: committed !== null && newest !== told,
    isNew: checkpoint !== newest || committed?.offset !== checkpoint.window.base,
  }
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

/** The checkpoint as far as the log still holds its offsets. */
async function within(
  { low, high }: { low: number; high: number },
  checkpoint: Checkpoint,
  { driver, ledger, shortTo, dataLost, clock, lookBackMs }: TakeOverOptions,
): Promise<Checkpoint> {
  const { window } = checkpoint
  const end = window.base + window.length
  const stays = shortTo(end, high)
  if (stays < end) {
    dataLost(end - stays)
    orphan(window, ledger, offset => offset >= stays)
    if (window.base > stays) {
      const start = await driver.offsetAt(Math.max(0, clock.now() - lookBackMs))
      return { ...checkpoint, window: new Window(start), uncheckedUntil: Math.max(high, end) }
    }
    window.forgetFrom(stays)
  }
  orphan(window, ledger, offset => offset < low)
  const lost = window.cut(low)
  if (lost > 0) dataLost(lost)
  return stays < end ? { ...checkpoint, uncheckedUntil: Math.max(checkpoint.uncheckedUntil, end) } : checkpoint
}

/** Records of POSTs are gone from the log: what came of those that nobody has published yet is known here alone. */
function orphan(window: Window, ledger: Ledger, isGone: (offset: number) => boolean): void {
  for (const offset of ledger.numbers()) {
    if (offset >= 0 && isGone(offset) && window.get(offset) === INTENT) ledger.orphan(offset)
  }
}

/**
 * Another process's intents: perhaps sent. What this process knew of an earlier ownership is no longer its to tell,
 * unless there is no other process: then the records are gone with the checkpoint.
 * @returns how many offsets are in doubt
 */
export function takeOver({ window, tag }: Checkpoint, ledger: Ledger): number {
  if (tag) ledger.clear()
  else for (const number of ledger.numbers()) if (number >= 0) ledger.orphan(number)
  let inDoubt = 0
  for (let offset = window.base; offset < window.base + window.length; offset++) {
    if (window.get(offset) === INTENT) window.set(offset, IN_DOUBT)
    if (window.get(offset) === IN_DOUBT) inDoubt++
  }
  return inDoubt
}

/**
 * This process's own intents: the ledger knows which of them were POSTed; the others never were.
 * @returns whether there were such others
 */
export function takeBack({ window, seq }: Checkpoint, ledger: Ledger): boolean {
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
