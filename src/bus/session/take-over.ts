import type { Clock } from '../../clock.ts'
import type { Acquired, Committed, PartitionDriver } from '../driver.ts'
import type { LostRange } from '../port.ts'
import { type Checkpoint, forgetTo, unpackCheckpoint } from './checkpoint.ts'
import { isOrphan, Ledger } from './ledger.ts'
import { hasLoss, type LostOffsets, loseOffsets } from './lost-offsets.ts'
import { DONE, IN_DOUBT, INTENT, NEW, Window } from './window.ts'

/*
 * The take-over of a partition: chooses the newest checkpoint, reduces it to what the log still holds, and resolves the
 * intents of another process or of an earlier session of this one.
 */

export interface TakeOverOptions {
  driver: PartitionDriver
  ledger: Ledger
  /** Name of this process; intents of another process are in doubt. */
  tag: string
  clock: Clock
  /** Start offset if the group has no checkpoint. */
  startAt: (low: number) => number
  /**
   * Of the offsets read up to `end`, the end of those that a log ending at `high` now still has.
   * @throws Error while that is uncertain
   */
  shortTo: (end: number, high: number) => number
  /** Whether a committed offset without a window does not count: all records are read, and the listener knows the done ones. */
  readsAll: boolean
  /** If the log ends before the checkpoint, reading begins this many milliseconds ago. */
  lookBackMs: number
  /** Reports offsets that the log lost before they were done. @throws Error when the session must not continue */
  dataLost: (lost: LostOffsets) => void
  known: KnownProgress
}

/** What this process knows of a partition's progress; it outlives sessions. */
export interface KnownProgress {
  /** Sequence number of the checkpoint at the take-over; null before it. */
  foundSeq: number | null
  /** The last confirmed commit since the take-over. */
  confirmed: Committed | null
  /** Id of the topic of `confirmed`; missing if unknown. */
  confirmedOn?: string | undefined
  /** End of the log of that topic when its last session was closed. */
  lastEnd: number
}

export interface TakenOver {
  /** The newest checkpoint, reduced to what the log still holds. */
  checkpoint: Checkpoint
  /** Its committed offset. */
  committed: number
  /** Whether it differs from the committed one. */
  isNew: boolean
  /** Whether this process wrote it. */
  own: boolean
  /** Whether the broker returned an older checkpoint than it had confirmed. */
  stale: boolean
  /** Sequence number in the broker's answer. */
  foundSeq: number
  /** The committed offset, if busgate did not write it; else null. */
  foreignOffset: number | null
  /** Offsets that the log lost before they were done. */
  lost: readonly LostRange[]
  low: number
  high: number
  topicId: string | undefined
}

/**
 * Fences the previous owner, and adopts the newest checkpoint unless the session has ended meanwhile.
 * @throws Error when offsets are lost and the session must not continue
 */
export async function takeOver(options: TakeOverOptions, isAlive: () => boolean): Promise<TakenOver | null> {
  const { driver, ledger, startAt, shortTo, clock, lookBackMs, tag, known, dataLost, readsAll } = options
  const acquired = await driver.acquire()
  const { low, high, topicId, lacksCommit = false } = acquired
  const committed = progressOn(acquired, known)
  const isForeign = committed !== null && !committed.metadata
  const begin = readsAll && (isForeign || committed === null) ? low : (committed?.offset ?? startAt(low))
  const found = unpackCheckpoint(begin, committed?.metadata, high)
  // nobody has sent from a topic that was made anew
  if (isMadeAnew(acquired, known)) found.forgotten = { until: 0, owned: true }
  const newest = newestOf(found, committed !== null, options)
  const { window } = newest
  const end = window.base + window.length
  const stays = shortTo(end, high)
  const startAnew = window.base > stays ? await driver.offsetAt(Math.max(0, clock.now() - lookBackMs)) : null
  if (!isAlive()) return null
  const own = newest.tag === tag
  const takenBack = own && takeBack(newest, ledger)
  if (!own) doubtIntents(newest, ledger, known.confirmed)
  const ranges = lostWithTopic(acquired, options)
  let checkpoint = newest
  if (stays < end) {
    const lost = { ...loseOffsets(newest, ledger, { from: stays, to: end }), end: { from: stays, to: end } }
    dataLost(lost)
    ranges.push(...lost.ranges)
    window.forgetFrom(stays)
    checkpoint = {
      ...newest,
      window: startAnew === null ? window : new Window(startAnew),
      uncheckedUntil: Math.max(newest.uncheckedUntil, end),
      memo: null,
      told: null,
    }
  }
  if (lacksCommit) {
    const uncheckedUntil = Math.max(checkpoint.uncheckedUntil, high)
    checkpoint = { ...checkpoint, uncheckedUntil, forgotten: forgetTo(high, checkpoint), memo: null }
  }
  const lost = loseOffsets(checkpoint, ledger, { to: low })
  if (hasLoss(lost)) dataLost(lost)
  ranges.push(...lost.ranges)
  if (hasLoss(lost) || stays < end) checkpoint.forgotten = forgetTo(low, checkpoint)
  checkpoint.window.skipTo(low)
  return {
    ...{ checkpoint, committed: checkpoint.window.base, own, low, high, topicId, foundSeq: found.seq },
    lost: ranges,
    isNew: takenBack || stays < end || lacksCommit || committed?.offset !== checkpoint.window.base,
    stale: committed !== null && newest !== found,
    foreignOffset: newest.tag === '' && isForeign && !readsAll ? committed.offset : null,
  }
}

/** What was not done of a deleted topic of the same name, as far as this process knows. The ledger has its own requests. */
function lostWithTopic(acquired: Acquired, { known, dataLost }: TakeOverOptions): LostRange[] {
  const { confirmed, lastEnd } = known
  if (!confirmed || !isMadeAnew(acquired, known)) return []
  const lost = loseOffsets(unpackCheckpoint(confirmed.offset, confirmed.metadata), new Ledger(), { to: lastEnd })
  if (hasLoss(lost)) dataLost({ ...lost, anew: true })
  return lost.ranges
}

/** The committed offset, unless it was committed for a deleted topic of the same name: offsets outlast their topic. */
function progressOn(acquired: Acquired, known: KnownProgress): Committed | null {
  return isMadeAnew(acquired, known) ? null : acquired.committed
}

/** Whether the topic was deleted and made anew since this process committed its progress on it. */
function isMadeAnew({ topicId }: Acquired, { confirmedOn }: KnownProgress): boolean {
  return confirmedOn !== undefined && topicId !== undefined && confirmedOn !== topicId
}

/**
 * Chooses the checkpoint that was committed last, whoever wrote it. The broker may return an older one: a broker that stops
 * right after confirming a transaction can lose the transaction's offset (seen with Kafka 4.3.0 on one node; the results were
 * kept). In that case the commit that was confirmed to this process counts. Another process's checkpoint is newer, unless it
 * is the one found at the take-over. A missing checkpoint is accepted: the topic was created anew, or someone deleted the
 * group's offsets. The sequence number continues.
 */
function newestOf(
  found: Checkpoint,
  isThere: boolean,
  { known: { confirmed, foundSeq }, tag }: TakeOverOptions,
): Checkpoint {
  if (!confirmed || foundSeq === null) return found
  const own = unpackCheckpoint(confirmed.offset, confirmed.metadata)
  if (!isThere) return { ...found, seq: own.seq }
  return found.seq >= (found.tag === tag ? own.seq : foundSeq + 1) ? found : own
}

/**
 * Intents of another process were perhaps sent. The ledger of an earlier ownership is void, since another process has owned
 * the partition. If the checkpoint names no process, there was none: the records were lost together with the checkpoint.
 */
function doubtIntents({ window, tag }: Checkpoint, ledger: Ledger, confirmed: Committed | null): void {
  if (tag) ledger.clear()
  else orphanAll(ledger, confirmed)
  for (const offset of window.offsets) if (window.get(offset) === INTENT) window.set(offset, IN_DOUBT)
}

/** Outcomes of POSTs remain to be published, except for those in a commit that was confirmed after its session had ended. */
function orphanAll(ledger: Ledger, confirmed: Committed | null): void {
  const before = confirmed && unpackCheckpoint(confirmed.offset, confirmed.metadata)
  for (const offset of ledger.keys()) {
    if (isOrphan(offset)) continue
    if (before?.window.get(offset) === DONE) ledger.remove(offset)
    else ledger.orphan(offset)
  }
}

/**
 * Resolves this process's own intents: the ledger has those that were POSTed; the others never were.
 * @returns whether there were others
 */
function takeBack({ window, seq }: Checkpoint, ledger: Ledger): boolean {
  let takenBack = false
  ledger.landed(seq)
  for (const offset of window.offsets) {
    if (window.get(offset) !== INTENT || ledger.has(offset)) continue
    window.set(offset, ledger.hasLost(offset, seq) ? DONE : NEW)
    takenBack = true
  }
  for (const offset of ledger.keys()) if (!isOrphan(offset) && window.get(offset) !== INTENT) ledger.remove(offset)
  return takenBack
}
