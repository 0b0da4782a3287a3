import { reportFault } from '../../telemetry/contain.ts'
import type { SessionStage, Telemetry } from '../../telemetry/events.ts'
import type { Batch, Committed, LogEnds, Part } from '../driver.ts'
import type {
  Backlog,
  BusRecord,
  Forgotten,
  LostRange,
  OutgoingRecord,
  Session,
  SessionListener,
  TopicPartition,
} from '../port.ts'
import type { CommitCycle, Participant } from '../transactions/commit-cycle.ts'
import { SessionCommits } from '../transactions/session-commits.ts'
import type { BacklogShare } from './backlog.ts'
import { type Checkpoint, forgetTo, isMemo, packCheckpoint } from './checkpoint.ts'
import { isOrphan, type LedgerKey } from './ledger.ts'
import { type Gone, hasLoss, loseOffsets } from './lost-offsets.ts'
import { type TakenOver, type TakeOverOptions, takeOver } from './take-over.ts'
import { DONE, IN_DOUBT, INTENT, NEW, type Window, windowSize } from './window.ts'
import { WindowIntake } from './window-intake.ts'

export interface SessionOptions extends TakeOverOptions, TopicPartition {
  listener: SessionListener
  telemetry: Telemetry
  cycle: CommitCycle
  backlog: BacklogShare
  /** Number of offsets below the checkpoint to read again for the listener's `history`. */
  lookBack: number
  committed: (records: number, windowUsed: number, checkpoint: Committed) => void
  /** Called when an error ends the session, with its stage. */
  lost: (stage: SessionStage, error: Error) => void
}

/**
 * One epoch of a partition's ownership: take-over, intake and group commits, until a commit fails or the partition is
 * revoked. A session is never repaired: after a failed commit, the next session reads back what was committed.
 */
export class PartitionSession implements Session, Participant {
  readonly topic: string
  readonly partition: number
  alive = true
  /** What the take-over found; null before it. */
  taken: TakenOver | null = null
  /** Number of intents taken over from another process. */
  doubtsTakenOver = 0
  readonly #options: SessionOptions
  readonly #commits: SessionCommits
  /** What was taken over, with the changes since. */
  #checkpoint!: Checkpoint
  /** Null until the take-over is done. */
  #intake: WindowIntake | null = null
  /** Base of the last commit that was formed. */
  #committedBase!: number
  /** The doubts taken over are below this offset. */
  #doubtsUntil!: number
  #held = false
  /** What else an offset's outcome brings about. */
  readonly #attached = new Map<number, { records: readonly OutgoingRecord[]; done: () => void }>()

  constructor(options: SessionOptions) {
    this.topic = options.topic
    this.partition = options.partition
    this.#options = options
    this.#commits = new SessionCommits(isUrgent => {
      if (this.alive) options.cycle.request(this, isUrgent) // a commit of an ended session would undo later progress
    })
  }

  get started(): boolean {
    return this.#intake !== null
  }

  /** Offset of the next record to take from the adapter. */
  get position(): number {
    return this.#intake?.position ?? -1
  }

  get open(): boolean {
    return this.alive && !this.#held && this.started
  }

  get uncheckedUntil(): number {
    if (!this.started) return 0
    const { uncheckedUntil, window } = this.#checkpoint
    return uncheckedUntil > window.base ? uncheckedUntil : 0
  }

  answeredBefore(offset: number): void {
    this.#checkpoint.uncheckedUntil = Math.min(this.#checkpoint.uncheckedUntil, offset)
  }

  get forgotten(): Forgotten | null {
    return this.started ? this.#checkpoint.forgotten : null
  }

  get awaitsEarlier(): boolean {
    return this.#options.ledger.hasOrphans
  }

  forget(before: number): void {
    this.#checkpoint.forgotten = forgetTo(before, this.#checkpoint)
  }

  recollected(records: readonly OutgoingRecord[]): void {
    if (!this.alive) return
    this.#checkpoint.forgotten = null
    this.#commits.add(records)
  }

  get memo(): string | null {
    return this.#checkpoint.memo
  }

  remember(memo: string): void {
    if (!isMemo(memo)) throw new RangeError(`${memo} is too long to be remembered`)
    this.#checkpoint.memo = memo
  }

  add(records: readonly OutgoingRecord[]): void {
    if (this.alive && records.length > 0) this.#commits.add(records)
  }

  attach(offset: number, records: readonly OutgoingRecord[], done: () => void): void {
    this.#attached.set(offset, { records, done })
  }

  #detach(offset: number): readonly OutgoingRecord[] {
    const attached = this.#attached.get(offset)
    if (!attached) return []
    this.#attached.delete(offset)
    attached.done()
    return attached.records
  }

  get #window(): Window {
    return this.#checkpoint.window
  }

  get windowUsed(): number {
    return !this.started ? 0 : (this.#window.horizon - this.#window.base) / windowSize
  }

  /** End of the log, as last seen. */
  get highWatermark(): number {
    return this.#intake?.highWatermark ?? 0
  }

  get lag(): number {
    return !this.#intake ? 0 : Math.max(0, this.#intake.highWatermark - this.#window.base)
  }

  get committing(): boolean {
    return this.#commits.busy
  }

  /** Takes the partition over: reads the checkpoint and starts delivery. */
  async start(): Promise<void> {
    const { driver, ledger, listener, lookBack, backlog } = this.#options
    const taken = await takeOver(this.#options, () => this.alive)
    if (!taken) return
    const { checkpoint, isNew, own, low, high } = taken
    const { window, intentsSince } = checkpoint
    this.taken = taken
    this.#checkpoint = checkpoint
    await listener.opening?.(this)
    if (!this.alive) return
    this.#committedBase = window.base
    const doubts = window.offsets.filter(offset => window.get(offset) === IN_DOUBT)
    if (!own) this.doubtsTakenOver = doubts.length
    this.#doubtsUntil = (doubts.at(-1) ?? -1) + 1
    const intake = new WindowIntake({
      session: this,
      deliver: call => this.#deliver(call),
      driver,
      window,
      backlog,
      position: Math.max(low, window.base - lookBack),
      highWatermark: high,
      doubtsSince: intentsSince,
      lose: gone => this.#lose(gone),
      takenIn: () => this.#takenIn(),
    })
    this.#intake = intake
    listener.opened(this)
    ledger.listen(key => this.#outcome(key))
    for (const key of ledger.keys()) this.#outcome(key)
    // otherwise a later owner would choose the start again, count lost offsets twice, or doubt commands that were never
    // POSTed
    if (isNew) this.#commits.touch()
    this.#tellLost([...taken.lost, ...skippedBefore(taken)])
    intake.begin()
  }

  /**
   * The boundary around a partition: an error of the listener ends this session alone. The next one is given the records again.
   */
  #deliver(call: (listener: SessionListener) => void): void {
    const { topic, partition } = this
    const { listener, telemetry } = this.#options
    try {
      call(listener)
    } catch (error) {
      reportFault(telemetry, 'partition', { topic, partition, offset: this.position }, error)
      this.end('handle', error as Error)
    }
  }

  run(work: () => void): void {
    if (this.alive) this.#deliver(work)
  }

  accept(batch: Batch): void {
    if (this.alive) this.#intake?.accept(batch)
  }

  logEnds(ends: LogEnds): void {
    if (this.alive) this.#intake?.logEnds(ends)
  }

  /** @returns whether the session continues */
  #lose(gone: Gone): boolean {
    const { ledger, dataLost } = this.#options
    const lost = loseOffsets(this.#checkpoint, ledger, gone)
    if (!hasLoss(lost)) return true
    this.forget(gone.to)
    this.#commits.touch()
    try {
      dataLost(lost)
    } catch (error) {
      this.end('fetch', error as Error)
    }
    if (this.alive) this.#tellLost(lost.ranges)
    return this.alive
  }

  /** Commits the listener's records about lost offsets together with the progress over them. */
  #tellLost(ranges: readonly LostRange[]): void {
    if (ranges.length === 0) return
    this.#deliver(listener => this.#commits.add(listener.lost?.(this, ranges) ?? []))
  }

  /** Commits progress over gaps, which would otherwise show as lag until the next commit. */
  #takenIn(): void {
    if (this.#window.base > this.#committedBase) this.#commits.touch()
  }

  made(record: BusRecord, bytes: number): number {
    return this.#options.backlog.made(record, bytes)
  }

  get capacity(): Backlog {
    return this.#options.backlog.least
  }

  get room(): Backlog {
    return this.#options.backlog.most
  }

  get endAtTakeOver(): number {
    return this.taken?.high ?? 0
  }

  get isCaughtUp(): boolean {
    return this.started && this.#window.horizon >= this.endAtTakeOver
  }

  get full(): boolean {
    return this.#intake?.full ?? true
  }

  get recalling(): boolean {
    return this.#intake?.recalling ?? false
  }

  shelve(offsets: readonly number[]): void {
    if (this.alive) this.#intake?.shelve(offsets)
  }

  recall(offsets: readonly number[]): void {
    if (this.alive) this.#intake?.recall(offsets)
  }

  intend(offsets: readonly number[]): Promise<boolean> {
    if (!this.open) return Promise.resolve(false)
    for (const offset of offsets) this.#window.set(offset, INTENT)
    return this.#commits.intend(offsets)
  }

  settle(offset: number, records: OutgoingRecord[]): void {
    const all = [...records, ...this.#detach(offset)]
    if (this.#options.ledger.finish(offset, this, all)) return
    if (this.alive) this.#settle(offset, all)
  }

  release(offset: number): void {
    this.#options.ledger.finish(offset, this, 'released')
  }

  committed(isUrgent = false): Promise<void> {
    return this.alive ? this.#commits.next(isUrgent) : Promise.resolve()
  }

  /** Handles the outcome of a POST that this or an earlier session of the process began. */
  #outcome(key: LedgerKey): void {
    const { ledger } = this.#options
    const outcome = ledger.outcome(key)
    if (!outcome) return
    if (isOrphan(key)) {
      this.#commits.settle(key, outcome === 'released' ? [] : outcome)
      return
    }
    if (this.#window.get(key) !== INTENT) return
    if (outcome !== 'released') {
      this.#settle(key, outcome)
      return
    }
    ledger.remove(key)
    this.#window.set(key, NEW)
    this.#commits.touch()
    this.#intake!.giveBack(key)
  }

  #settle(offset: number, records: readonly OutgoingRecord[]): void {
    if (this.#window.get(offset) === DONE) return
    this.#window.set(offset, DONE)
    this.#detach(offset) // its outcome, of an earlier session, has these records
    this.#intake!.letGo(offset)
    this.#commits.settle(offset, records)
  }

  form(): Part {
    const { topic, partition } = this
    const { tag, ledger, clock } = this.#options
    const { records, settled } = this.#commits.begin()
    const checkpoint = this.#checkpoint
    const { window } = checkpoint
    window.advance()
    this.#committedBase = window.base
    checkpoint.seq++
    for (const key of settled) ledger.carry(key, checkpoint.seq)
    ledger.recordLosses(checkpoint.seq)
    const doubtsSince = window.base < this.#doubtsUntil ? checkpoint.intentsSince : Number.POSITIVE_INFINITY
    const intentsSince = Math.min(doubtsSince, ledger.oldest(clock.now()))
    const metadata = packCheckpoint({ ...checkpoint, tag, intentsSince })
    return { topic, partition, records, offset: window.base, metadata }
  }

  done({ records, offset, metadata }: Part): void {
    const { ledger, clock, committed } = this.#options
    committed(records.length, this.windowUsed, { offset, metadata })
    if (!this.alive) return
    const { settled, intents } = this.#commits.end()
    for (const offset of intents) ledger.start(offset, this, clock.now())
    for (const key of settled) ledger.remove(key)
    this.#intake!.takeIn()
  }

  /** Lets no POST begin until `resume`, since the partition may be given away. What is in flight continues. */
  hold(): void {
    this.#held = true
    if (!this.started) return
    this.#deliver(listener => listener.held?.(this))
    for (const offset of this.#commits.takeBack()) this.#window.set(offset, NEW)
  }

  /** Continues after a rebalance that kept the partition. */
  resume(): void {
    this.#held = false
    if (this.started) this.#deliver(listener => listener.resumed(this))
  }

  end(stage: SessionStage, error: Error): void {
    if (!this.alive) return
    this.close()
    this.#options.lost(stage, error)
  }

  close(): void {
    this.alive = false
    this.#options.driver.pause() // stop fetching records that no session takes
    this.#options.ledger.listen(null)
    this.#options.backlog.end()
    this.#options.cycle.remove(this)
    this.#commits.stop()
  }
}

/** The offsets before a committed one that busgate did not write: which of them were done is unknown. */
function skippedBefore({ foreignOffset, committed, low }: TakenOver): LostRange[] {
  const isSkipping = foreignOffset !== null && committed > low
  return isSkipping ? [{ kind: 'skipped', first: low, last: committed - 1 }] : []
}
