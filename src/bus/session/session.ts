import type { Clock } from '../../clock.ts'
import type { SessionStage } from '../../telemetry/events.ts'
import type { Backlog, BusRecord, OutgoingRecord, Session, SessionListener } from '../port.ts'
import type { BacklogShare } from './backlog.ts'
import { type Checkpoint, packCheckpoint, unpackCheckpoint } from './checkpoint.ts'
import type { CommitCycle } from './commit-cycle.ts'
import { Detour } from './detour.ts'
import type { Batch, Committed, Part, PartitionDriver } from './driver.ts'
import { GroupCommit } from './group-commit.ts'
import { IntentTimes } from './intent-times.ts'
import type { Ledger } from './ledger.ts'
import { UndoneRecords } from './undone-records.ts'
import { DONE, IN_DOUBT, INTENT, NEW, Window, windowSize } from './window.ts'

interface Arrived {
  history: BusRecord[]
  fresh: BusRecord[]
  doubts: BusRecord[]
}

export interface SessionOptions {
  topic: string
  partition: number
  driver: PartitionDriver
  /** Outlives this session. */
  ledger: Ledger
  /** Names this process; another one's intents are in doubt. */
  tag: string
  listener: SessionListener
  clock: Clock
  /** Commits, perhaps together with other sessions. */
  cycle: CommitCycle
  /** Its part of what the process may hold undone in memory. */
  backlog: BacklogShare
  /** Offsets below the checkpoint that are read again for the listener's history. */
  lookBack: number
  /** Whether the lease holds. Without it the partition may have another owner, whatever the group last said. */
  leased: () => boolean
  /** Whether it may be opened without a lease where no other process has committed since, to tell what is known. */
  finishing: () => boolean
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
  committed: (records: number, windowUsed: number, checkpoint: Committed) => void
  /** The sequence number that was found when the partition was taken over; null: it is being taken over. */
  foundSeq: number | null
  /** The last commit that was confirmed since then; null: none was. */
  confirmed: Committed | null
  /** The session is over; an error says why, at which stage. */
  lost: (stage: SessionStage, error: Error) => void
}

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
  readonly #intentTimes = new IntentTimes()
  #held = false
  #paused = true
  /** Fetched, but beyond the window. */
  #waiting: BusRecord[] = []
  /** Records whose POST an earlier session of this process made: kept in case it turns out not to have been sent. */
  readonly #carried = new Map<number, BusRecord>()
  readonly #detour = new Detour()
  readonly #undone: UndoneRecords

  constructor(options: SessionOptions) {
    this.topic = options.topic
    this.partition = options.partition
    this.#options = options
    this.#undone = new UndoneRecords(options.backlog)
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

  /** Takes the partition over: fences, reads the checkpoint, starts delivery. */
  async start(): Promise<void> {
    const { driver, ledger, tag, leased, finishing, startAt, listener } = this.#options
    const { committed, low, high } = await driver.acquire()
    const told = unpackCheckpoint(committed?.offset ?? startAt(low), committed?.metadata, high)
    this.foundSeq = told.seq
    const newest = this.#newest(told, committed !== null)
    const checkpoint = await this.#within({ low, high }, newest)
    if (!this.alive) return
    const own = checkpoint.tag === tag
    if (!leased() && !(own && finishing())) {
      if (!own) ledger.clear() // it is no longer this process's to tell
      throw new Error('the lease was over before the partition was taken over')
    }
    this.#window = checkpoint.window
    this.#seq = checkpoint.seq
    this.#committedBase = this.#window.base
    this.#uncheckedUntil = checkpoint.uncheckedUntil
    const takenBack = own && this.#takeBack()
    if (!own) this.#takeOver(checkpoint.tag)
    this.#sinceOf(checkpoint)
    this.position = Math.max(low, this.#window.base - this.#options.lookBack)
    this.highWatermark = high
    listener.opened(this)
    ledger.listen(offset => this.#outcome(offset))
    for (const number of ledger.numbers()) this.#outcome(number)
    // else a later owner would choose the start, or count what is gone from the log, anew, or doubt what was never POSTed
    if (checkpoint !== newest || committed?.offset !== this.#window.base || takenBack) this.#commits.touch()
    driver.seek(this.position)
    this.#paused = false
    driver.resume()
  }

  /**
   * The checkpoint that counts: the one that was committed last, whoever wrote it. What the bus tells can be older: a
   * broker that stops right after it confirmed a transaction can lose the offset in it (seen with Kafka 4.3.0 on one node:
   * the results were there, their progress was not). Then what was confirmed to this process counts. A checkpoint of
   * another process is no older one, unless it is the one that this process found when it took the partition over. That
   * there is none is believed: the topic was made anew, or somebody took the group's offsets away. The sequence goes on.
   */
  #newest(told: Checkpoint, isThere: boolean): Checkpoint {
    const { confirmed, foundSeq, tag } = this.#options
    if (!confirmed || foundSeq === null) return told
    const known = unpackCheckpoint(confirmed.offset, confirmed.metadata)
    if (!isThere) return { ...told, seq: known.seq }
    if (told.seq >= (told.tag === tag ? known.seq : foundSeq + 1)) return told
    this.stale = true
    return known
  }

  /** The checkpoint as far as the log still holds its offsets. */
  async #within({ low, high }: { low: number; high: number }, checkpoint: Checkpoint): Promise<Checkpoint> {
    const { driver, shortTo, dataLost, clock, lookBackMs } = this.#options
    const { window } = checkpoint
    const end = window.base + window.length
    const stays = shortTo(end, high)
    if (stays < end) {
      dataLost(end - stays)
      this.#orphan(window, offset => offset >= stays)
      if (window.base > stays) {
        const start = await driver.offsetAt(Math.max(0, clock.now() - lookBackMs))
        return { ...checkpoint, window: new Window(start), uncheckedUntil: Math.max(high, end) }
      }
      window.forgetFrom(stays)
    }
    this.#orphan(window, offset => offset < low)
    const lost = window.cut(low)
    if (lost > 0) dataLost(lost)
    return stays < end ? { ...checkpoint, uncheckedUntil: Math.max(checkpoint.uncheckedUntil, end) } : checkpoint
  }

  /** Records of POSTs are gone from the log: what came of those that nobody has published yet is known here alone. */
  #orphan(window: Window, isGone: (offset: number) => boolean): void {
    const { ledger } = this.#options
    for (const offset of ledger.numbers()) {
      if (offset >= 0 && isGone(offset) && window.get(offset) === INTENT) ledger.orphan(offset)
    }
  }

  /**
   * Another process's intents: perhaps sent. What this process knew of an earlier ownership is no longer its to tell,
   * unless there is no other process: then the records are gone with the checkpoint.
   */
  #takeOver(tag: string): void {
    const window = this.#window
    const { ledger } = this.#options
    if (tag) ledger.clear()
    else for (const number of ledger.numbers()) if (number >= 0) ledger.orphan(number)
    for (let offset = window.base; offset < window.base + window.length; offset++) {
      if (window.get(offset) === INTENT) window.set(offset, IN_DOUBT)
      if (window.get(offset) === IN_DOUBT) this.doubtsTakenOver++
    }
  }

  /**
   * This process's own intents: the ledger knows which of them were POSTed; the others never were.
   * @returns whether there were such others
   */
  #takeBack(): boolean {
    const { ledger } = this.#options
    const window = this.#window
    let takenBack = false
    ledger.landed(this.#seq)
    for (let offset = window.base; offset < window.base + window.length; offset++) {
      if (window.get(offset) !== INTENT || ledger.has(offset)) continue
      window.set(offset, NEW)
      takenBack = true
    }
    for (const offset of ledger.numbers()) if (offset >= 0 && window.get(offset) !== INTENT) ledger.remove(offset)
    return takenBack
  }

  #sinceOf({ window, intentsSince }: Checkpoint): void {
    const posted = Array.from({ length: window.length }, (_, i) => window.base + i).filter(offset =>
      this.#mayBePosted(offset),
    )
    this.#intentTimes.set(posted, intentsSince)
  }

  #mayBePosted(offset: number): boolean {
    const state = this.#window.get(offset)
    return state === INTENT || state === IN_DOUBT
  }

  /** @returns false when the batch does not continue where the session stands: seek to `position`. */
  accept(batch: Batch): boolean {
    if (!this.started) return true
    if (batch.fetchedOffset !== this.position) return false
    const { recalled, onward, gone } = this.#detour.sort(batch)
    this.position = this.#detour.next(batch.nextOffset)
    if (this.position !== batch.nextOffset) this.#options.driver.seek(this.position)
    this.highWatermark = batch.highWatermark
    for (const record of onward) this.#waiting.push(record)
    for (const offset of gone) this.#settle(offset, [])
    for (const record of recalled) this.#undone.hold(record)
    if (recalled.length > 0 || gone.length > 0) this.#options.listener.recalled?.(this, recalled)
    this.#takeIn()
    return true
  }

  /** The log does not hold the position any more: goes on at its beginning, or ends where it ends too early. */
  cut(low: number, high: number): void {
    const { driver, dataLost, listener } = this.#options
    if (!this.started || !this.alive) return
    if (this.position > high) {
      this.end('fetch', new Error(`the log ends at ${high}, before offset ${this.position} that was to be read next`))
      return
    }
    const gone = this.#detour.cut(low)
    const lost = Math.max(0, low - Math.max(this.#detour.reached(this.position), this.#window.base)) + gone.length
    this.position = this.#detour.next(Math.max(this.position, low))
    this.highWatermark = high
    for (const offset of gone) this.#settle(offset, [])
    if (gone.length > 0) listener.recalled?.(this, [])
    if (this.#waiting.length === 0 && !this.#detour.active) this.#window.skipTo(this.position)
    driver.seek(this.position)
    if (lost === 0) return
    try {
      dataLost(lost)
    } catch (error) {
      this.end('fetch', error as Error)
    }
  }

  #takeIn(): void {
    const window = this.#window
    const arrived: Arrived = { history: [], fresh: [], doubts: [] }
    let taken = 0
    for (const record of this.#waiting) {
      window.skipTo(record.offset)
      if (window.horizon < record.offset || !window.fits(record.offset)) break
      taken++
      this.#admit(record, arrived)
    }
    if (taken > 0) this.#waiting = this.#waiting.slice(taken)
    if (this.#waiting.length === 0) window.skipTo(this.position)
    // else whoever watches the group from outside would see a lag for as long as nothing else is to be committed
    if (window.base > this.#committedBase) this.#commits.touch()
    const { listener } = this.#options
    if (arrived.history.length > 0) listener.history?.(this, arrived.history)
    if (arrived.doubts.length > 0) {
      const since = this.#intentTimes.earliestOf(arrived.doubts.map(({ offset }) => offset))
      listener.inDoubt(this, arrived.doubts, since)
    }
    if (arrived.fresh.length > 0) listener.records(this, arrived.fresh)
    this.#balance()
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
    return this.#detour.active
  }

  /** Back-pressure: the adapter stops fetching while too much is undone, or while the window is full. */
  #balance(): void {
    const { driver, backlog } = this.#options
    const recalling = this.#detour.active
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
    if (!this.alive) return
    for (const offset of offsets) if (this.#window.get(offset) === NEW) this.#undone.letGo(offset)
    this.#balance()
  }

  recall(offsets: readonly number[]): void {
    if (!this.alive) return
    const shelved = offsets.filter(offset => this.#isShelved(offset))
    const from = this.#detour.want(shelved, this.position)
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
