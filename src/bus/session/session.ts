import type { SessionStage } from '../../telemetry/events.ts'
import type { Backlog, BusRecord, OutgoingRecord, Session, SessionListener } from '../port.ts'
import { type BacklogShare, contentBytesOf, UndoneRecords } from './backlog.ts'
import { type Checkpoint, packCheckpoint } from './checkpoint.ts'
import type { CommitCycle } from './commit-cycle.ts'
import type { Batch, Committed, LogEnds, Part } from './driver.ts'
import { GroupCommit } from './group-commit.ts'
import { IntentTimes } from './intent-times.ts'
import { isAny, loseOffsets } from './lost-offsets.ts'
import { Refetch } from './refetch.ts'
import { findCheckpoint, type TakeOverOptions, takeCheckpoint } from './take-over.ts'
import { DONE, IN_DOUBT, INTENT, NEW, type OffsetState, type Window, windowSize } from './window.ts'

interface Arrived {
  history: BusRecord[]
  fresh: BusRecord[]
  doubts: BusRecord[]
}

export interface SessionOptions extends TakeOverOptions {
  topic: string
  partition: number
  listener: SessionListener
  /** Commits, perhaps together with other sessions. */
  cycle: CommitCycle
  /** Its part of what the process may hold undone in memory. */
  backlog: BacklogShare
  /** Offsets below the checkpoint that are read again for the listener's history. */
  lookBack: number
  committed: (records: number, windowUsed: number, checkpoint: Committed) => void
  /** The session is over; an error says why, at which stage. */
  lost: (stage: SessionStage, error: Error) => void
}

/** Records of so many bytes are handed over before it is asked how much memory is taken by what was made of them. */
const bytesAtOnce = 32 * 1024

/**
 * One epoch of a partition's ownership: take-over, intake, group commits, until a commit fails or the partition goes.
 * Never repaired: what a failed commit left behind is read back by the next session.
 */
export class PartitionSession implements Session {
  readonly topic: string
  readonly partition: number
  alive = true
  /** The offset of the next record to be taken in from the adapter. */
  position = -1
  highWatermark = 0
  /** Whether the bus told an older checkpoint than it had confirmed. */
  stale = false
  /** The sequence number of the checkpoint that was found; null until one was looked for. */
  foundSeq: number | null = null
  /** Offsets taken over from another process as intents. */
  doubtsTakenOver = 0
  readonly #options: SessionOptions
  readonly #commits: GroupCommit
  #window!: Window
  #seq = 0
  /** The base of the last commit that was formed. */
  #committedBase = 0
  #uncheckedUntil = 0
  #intentTimes!: IntentTimes
  #held = false
  #paused = true
  #isTakingIn = false
  /** Fetched, but beyond the window, or more than there is room for. */
  #waiting: BusRecord[] = []
  /** Records whose POST an earlier session of this process made: kept in case it turns out not to have been sent. */
  readonly #carried = new Map<number, BusRecord>()
  readonly #refetch = new Refetch()
  #undone!: UndoneRecords

  constructor(options: SessionOptions) {
    this.topic = options.topic
    this.partition = options.partition
    this.#options = options
    this.#commits = new GroupCommit({
      clock: options.clock,
      cycle: options.cycle,
      form: (records, settled) => this.#form(records, settled),
      landed: ({ records, offset, metadata }) =>
        options.committed(records.length, this.windowUsed, { offset, metadata }),
      committed: (settled, intents) => this.#applied(settled, intents),
    })
  }

  /** Tells whether the take-over is done. */
  get started(): boolean {
    return this.position >= 0
  }

  get open(): boolean {
    return this.alive && !this.#held && this.started
  }

  get uncheckedUntil(): number {
    return this.started && this.#uncheckedUntil > this.#window.base ? this.#uncheckedUntil : 0
  }

  get windowUsed(): number {
    return !this.started ? 0 : (this.#window.horizon - this.#window.base) / windowSize
  }

  get lag(): number {
    return !this.started ? 0 : Math.max(0, this.highWatermark - this.#window.base)
  }

  get committing(): boolean {
    return this.#commits.busy
  }

  /** Takes the partition over: reads the checkpoint, starts delivery. */
  async start(): Promise<void> {
    const { driver, ledger, listener, lookBack } = this.#options
    const found = await findCheckpoint(this.#options)
    const { own, low, high } = found
    this.foundSeq = found.foundSeq
    this.stale = found.stale
    if (!this.alive) return
    const { checkpoint, isNew } = takeCheckpoint(found, this.#options)
    this.#window = checkpoint.window
    this.#undone = new UndoneRecords(this.#options.backlog, this.#window)
    this.#intentTimes = new IntentTimes(this.#window)
    this.#seq = checkpoint.seq
    this.#committedBase = this.#window.base
    this.#uncheckedUntil = checkpoint.uncheckedUntil
    if (!own) this.doubtsTakenOver = this.#offsetsIn(IN_DOUBT).length
    this.#sinceOf(checkpoint)
    this.position = Math.max(low, this.#window.base - lookBack)
    this.highWatermark = high
    listener.opened(this)
    ledger.listen(offset => this.#outcome(offset))
    for (const number of ledger.numbers()) this.#outcome(number)
    // else a later owner would choose the start, or count what is gone from the log, anew, or doubt what was never POSTed
    if (isNew) this.#commits.touch()
    driver.seek(this.position)
    this.#paused = false
    driver.resume()
  }

  #sinceOf({ intentsSince }: Checkpoint): void {
    this.#intentTimes.set(this.#offsetsIn(INTENT, IN_DOUBT), intentsSince)
  }

  #offsetsIn(...states: OffsetState[]): number[] {
    const { base, length } = this.#window
    return Array.from({ length }, (_, i) => base + i).filter(offset => states.includes(this.#window.get(offset)))
  }

  #mayBePosted(offset: number): boolean {
    const state = this.#window.get(offset)
    return state === INTENT || state === IN_DOUBT
  }

  /** @returns false when the batch does not continue where the session stands: seek to `position`. */
  accept(batch: Batch): boolean {
    if (!this.started) return true
    if (batch.fetchedOffset !== this.position) return false
    const { recalled, onward } = this.#refetch.sort(batch)
    const gone = this.#refetch.passed(batch.nextOffset)
    this.position = this.#refetch.next(batch.nextOffset)
    if (this.position !== batch.nextOffset) this.#options.driver.seek(this.position)
    this.highWatermark = batch.highWatermark
    for (const record of onward) this.#waiting.push(record)
    for (const record of recalled) this.#undone.hold(record)
    if (gone.size > 0) this.#lose(batch.nextOffset, offset => !gone.has(offset))
    if (!this.alive) return true
    if (recalled.length > 0 || gone.size > 0) this.#options.listener.recalled?.(this, recalled)
    this.#takeIn()
    return true
  }

  /** The log does not hold the position any more: goes on at its beginning, or ends where it ends too early. */
  cut(ends: LogEnds): void {
    if (this.position > ends.high) {
      const { high } = ends
      this.end('fetch', new Error(`the log ends at ${high}, before offset ${this.position} that was to be read next`))
    } else this.logEnds(ends)
  }

  /** The log begins and ends here now: what is gone, be it shelved or never read, is done with at once. */
  logEnds({ low, high }: LogEnds): void {
    if (!this.started || !this.alive) return
    this.highWatermark = Math.max(this.highWatermark, high)
    if (low <= Math.min(this.#window.base, this.position)) return
    const readTo = this.#refetch.reached(this.position)
    const { horizon } = this.#window
    this.#refetch.passed(low)
    const position = this.#refetch.next(Math.max(this.position, low))
    if (position !== this.position) this.#options.driver.seek(position)
    this.position = position
    this.#lose(low, offset => (offset < horizon ? this.#undone.has(offset) : offset < readTo), readTo)
    if (!this.alive) return
    this.#options.listener.cut?.(this, low)
    this.#takeIn()
  }

  /** Records before `to` are gone from the log, but for those that are kept. */
  #lose(to: number, isKept: (offset: number) => boolean, readTo = to): void {
    const lost = loseOffsets(this.#checkpoint, this.#options.ledger, { from: 0, to, isKept, readTo })
    if (!isAny(lost)) return
    this.#commits.touch()
    try {
      this.#options.dataLost(lost)
    } catch (error) {
      this.end('fetch', error as Error)
    }
  }

  get #checkpoint() {
    return { window: this.#window, uncheckedUntil: this.#uncheckedUntil }
  }

  /** Takes in what there is room for. */
  #takeIn(): void {
    if (this.#isTakingIn) return // the listener shelves what it was just given
    this.#isTakingIn = true
    while (this.#waiting.length > 0 && !this.#options.backlog.isOver && this.#takeSome()) {}
    this.#isTakingIn = false
    const window = this.#window
    if (this.#waiting.length === 0) window.skipTo(this.position)
    // else whoever watches the group from outside would see a lag for as long as nothing else is to be committed
    if (window.base > this.#committedBase) this.#commits.touch()
    this.#balance()
  }

  /** @returns whether it took any */
  #takeSome(): boolean {
    const window = this.#window
    const arrived: Arrived = { history: [], fresh: [], doubts: [] }
    let taken = 0
    let bytes = 0
    for (const record of this.#waiting) {
      window.skipTo(record.offset)
      if (window.horizon < record.offset || !window.fits(record.offset) || bytes > bytesAtOnce) break
      taken++
      bytes += contentBytesOf(record)
      this.#admit(record, arrived)
    }
    if (taken === 0) return false
    this.#waiting = this.#waiting.slice(taken)
    const { listener } = this.#options
    if (arrived.history.length > 0) listener.history?.(this, arrived.history)
    if (arrived.doubts.length > 0) {
      const since = this.#intentTimes.earliestOf(arrived.doubts.map(({ offset }) => offset))
      listener.inDoubt(this, arrived.doubts, since)
    }
    if (arrived.fresh.length > 0) listener.records(this, arrived.fresh)
    return true
  }

  #admit(record: BusRecord, { history, fresh, doubts }: Arrived): void {
    const state = this.#window.get(record.offset)
    if (record.offset === this.#window.horizon) this.#window.horizon++
    if (state === DONE || state === INTENT) history.push(record)
    if (state === DONE) return
    this.#undone.hold(record)
    if (state === NEW) fresh.push(record)
    else if (state === IN_DOUBT) doubts.push(record)
    else this.#carried.set(record.offset, record)
  }

  made(record: BusRecord, bytes: number): number {
    return this.#undone.made(record, bytes)
  }

  get capacity(): Backlog {
    return this.#options.backlog.least
  }

  get room(): Backlog {
    return this.#options.backlog.most
  }

  get full(): boolean {
    return this.#options.backlog.isOver || (this.#paused && this.#waiting.length === 0)
  }

  get recalling(): boolean {
    return this.#refetch.active
  }

  /** Back-pressure: the adapter stops fetching while too much is undone, or while the window is full. */
  #balance(): void {
    const { driver, backlog } = this.#options
    const recalling = this.#refetch.active
    const stops = backlog.isOver || (this.#waiting.length > 0 && !recalling)
    if (stops && !this.#paused) {
      this.#paused = true
      driver.pause()
    } else if (this.#paused && !stops && (recalling || backlog.isHalfEmpty)) {
      this.#paused = false
      driver.resume()
    }
  }

  shelve(offsets: readonly number[]): void {
    if (!this.alive || !this.started) return
    for (const offset of offsets) if (this.#window.get(offset) === NEW) this.#undone.letGo(offset)
    this.#takeIn()
  }

  recall(offsets: readonly number[]): void {
    if (!this.alive) return
    const shelved = offsets.filter(offset => this.#isShelved(offset))
    const from = this.#refetch.want(shelved, this.position)
    if (from < this.position) this.#options.driver.seek(from)
    this.position = from
    this.#balance()
  }

  #isShelved(offset: number): boolean {
    const { base, horizon } = this.#window
    return offset >= base && offset < horizon && this.#window.get(offset) === NEW && !this.#undone.has(offset)
  }

  intend(offsets: readonly number[]): Promise<boolean> {
    if (!this.open) return Promise.resolve(false)
    const now = this.#options.clock.now()
    for (const offset of offsets) this.#window.set(offset, INTENT)
    this.#intentTimes.set(offsets, now)
    return this.#commits.intend(offsets)
  }

  settle(offset: number, records: OutgoingRecord[]): void {
    if (this.#options.ledger.finish(offset, this, records)) return
    if (this.alive) this.#settle(offset, records)
  }

  release(offset: number): void {
    this.#options.ledger.finish(offset, this, 'released')
  }

  committed(isUrgent = false): Promise<void> {
    return this.alive ? this.#commits.next(isUrgent) : Promise.resolve()
  }

  /** A POST of this process ended, whichever session began it. */
  #outcome(offset: number): void {
    const { ledger, listener } = this.#options
    const outcome = ledger.outcome(offset)
    if (!outcome) return
    if (offset < 0) {
      this.#commits.settle(offset, outcome === 'released' ? [] : outcome)
      return
    }
    if (this.#window.get(offset) !== INTENT) return
    if (outcome !== 'released') {
      this.#settle(offset, outcome)
      return
    }
    ledger.remove(offset)
    this.#window.set(offset, NEW)
    this.#commits.touch()
    const record = this.#carried.get(offset)
    if (!record) return
    this.#carried.delete(offset)
    listener.records(this, [record])
  }

  #settle(offset: number, records: readonly OutgoingRecord[]): void {
    if (this.#window.get(offset) === DONE) return
    this.#window.set(offset, DONE)
    this.#carried.delete(offset)
    this.#undone.letGo(offset)
    this.#commits.settle(offset, records)
  }

  #form(records: readonly OutgoingRecord[], settled: readonly number[]): Part {
    const window = this.#window
    window.advance()
    this.#committedBase = window.base
    this.#seq++
    for (const number of settled) this.#options.ledger.carry(number, this.#seq)
    const { topic, partition, uncheckedUntil } = this
    const { tag } = this.#options
    const intentsSince = this.#intentTimes.oldest(offset => this.#mayBePosted(offset))
    const metadata = packCheckpoint({ tag, seq: this.#seq, window, uncheckedUntil, intentsSince })
    return { topic, partition, records, offset: window.base, metadata }
  }

  #applied(settled: readonly number[], intents: readonly number[]): void {
    const { ledger } = this.#options
    for (const offset of intents) ledger.start(offset, this)
    for (const offset of settled) ledger.remove(offset)
    if (this.alive) this.#takeIn()
  }

  /** Begins no new POST, and resolves when nothing is in flight or uncommitted, or after `ms`. */
  async quiesce(ms: number): Promise<void> {
    this.#held = true
    if (!this.started) return
    this.#options.listener.held?.(this)
    for (const offset of this.#commits.withdraw()) this.#window.set(offset, NEW)
    await this.#commits.idle(() => this.#options.ledger.size === 0, ms)
  }

  /** The group kept the partition: go on. */
  resume(): void {
    this.#held = false
    if (!this.started) return
    const { driver, listener } = this.#options
    driver.seek(this.position)
    if (this.#paused) driver.pause()
    else driver.resume()
    listener.resumed(this)
  }

  end(stage: SessionStage, error: Error): void {
    if (!this.alive) return
    this.close()
    this.#options.lost(stage, error)
  }

  close(): void {
    this.alive = false
    this.#options.ledger.listen(null)
    this.#options.backlog.end()
    this.#commits.stop()
  }
}
