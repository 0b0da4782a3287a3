import { randomBytes } from 'node:crypto'
import { sleep } from '../../clock.ts'
import type { SessionStage } from '../../telemetry/events.ts'
import type { Batch, GroupDriver, LogEnds, Part } from '../driver.ts'
import type { GroupEvents } from '../membership/member.ts'
import { PartitionMap } from '../partitions.ts'
import type { Backlog, JoinOptions, Membership, SessionState, TopicPartition } from '../port.ts'
import { CommitCycle } from '../transactions/commit-cycle.ts'
import { SharedBacklog } from './backlog.ts'
import { type FirstStartOptions, firstEnds } from './first-start.ts'
import { Ledger } from './ledger.ts'
import { countOf, type LostOffsets, textOf } from './lost-offsets.ts'
import { OwnedPartition, type OwnedPartitionOptions } from './owned-partition.ts'
import { PartitionSession } from './session.ts'

export interface OwnershipOptions
  extends FirstStartOptions,
    OwnedPartitionOptions,
    Pick<JoinOptions, 'lookBack' | 'readsAll' | 'recordsOf' | 'lookBackMs'> {
  drainMs: number
  /** Most unfinished records that all sessions of the process may hold in memory. */
  backlog?: Backlog | undefined
}

/** Back-off in milliseconds before a lost session, or one that failed to open, is opened again. */
const reopenAfterLossMs = 200
const reopenAfterFailureMs = 500
const finishCheckMs = 10
/** How often the logs of partitions with unfinished records are checked for truncation. */
const lookMs = 5_000
/** Most unfinished records in memory: of the process, and of one session. */
const backlogInAll: Backlog = { records: 16_000, bytes: 64 << 20 }
const backlogAtMost: Backlog = { records: 4_000, bytes: 16 << 20 }

/** Opens a session for each assigned partition, and again whenever a session is lost. */
export class Ownership implements GroupEvents, Membership {
  readonly #options: OwnershipOptions
  readonly tag = randomBytes(6).toString('base64url')
  readonly #owned = new PartitionMap<OwnedPartition>()
  /** They outlive sessions, since the outcome of a POST in flight is still needed. */
  readonly #ledgers = new PartitionMap<Ledger>()
  readonly #backlog: SharedBacklog
  #firstEnds = new PartitionMap<number>()
  #group!: GroupDriver
  readonly #cycle: CommitCycle
  #joining = false
  #leaving = false
  #cancelLook = () => {}

  constructor(options: OwnershipOptions) {
    this.#options = options
    this.#backlog = new SharedBacklog(options.backlog ?? backlogInAll, backlogAtMost)
    this.#cycle = new CommitCycle({
      clock: options.clock,
      transact: parts => this.#transact(parts),
      failed: error => {
        for (const { session } of this.#owned) session?.end('commit', error)
      },
    })
  }

  /** Called once, before the group is joined. @throws Error when kafka.startFrom forbids to begin */
  async attach(group: GroupDriver, topics: readonly string[]): Promise<void> {
    this.#group = group
    this.#firstEnds = await firstEnds(this.#options, group, topics)
  }

  hasLease(): boolean {
    return this.#group.member.hasLease
  }

  share(): { owned: number; total: number } {
    return { owned: this.#owned.size, total: this.#group.member.totalPartitions }
  }

  trouble(): string | null {
    return this.#group.member.trouble
  }

  unread(): readonly string[] {
    return [...this.#group.member.unread, ...this.#group.unread()]
  }

  *sessions(): Iterable<SessionState> {
    for (const { tp, session } of this.#owned) {
      const { windowUsed = 0, lag = 0, open = false, committing = false } = session ?? {}
      yield { ...tp, windowUsed, lag, open, committing }
    }
  }

  async joining(): Promise<void> {
    this.#joining = true
    const { isMember } = this.#group.member // only a member can commit
    await this.#finish(isMember ? this.#options.drainMs : 0)
    if (this.#joining) this.#cycle.hold() // a commit would fail as soon as the next generation begins, and end all sessions
  }

  assigned(partitions: readonly TopicPartition[], unbroken: boolean): void {
    this.#joining = false
    const given = new PartitionMap<TopicPartition>()
    for (const tp of partitions) given.set(tp, tp)
    for (const owned of this.#owned) {
      if (unbroken && given.get(owned.tp)) continue // no other process can have owned it meanwhile
      this.#owned.delete(owned.tp)
      owned.close()
    }
    this.#options.listener.shareChanged?.() // a partition that is lost and assigned again may have had another owner in between
    for (const tp of partitions) {
      const owned = this.#owned.get(tp)
      if (!owned) this.#take(tp)
      else if (!this.#leaving) owned.session?.resume()
    }
    this.#options.listener.shareChanged?.()
    this.#cycle.go()
    this.#lookSoon()
  }

  #lookSoon(): void {
    this.#cancelLook()
    if (this.#owned.size === 0 || this.#leaving) return
    this.#cancelLook = this.#options.clock.after(lookMs, () => void this.#lookAtLogs())
  }

  /** Checks the ends of all logs, read or paused, to report deleted records early and to count appended ones as lag. */
  async #lookAtLogs(): Promise<void> {
    const look = async ({ session }: OwnedPartition) => {
      if (!session?.windowUsed) return
      const ends = await this.#group.ends(session).catch(() => null) // retried at the next check
      if (ends) session.logEnds(ends)
    }
    await Promise.all([...this.#owned].map(look))
    this.#lookSoon()
  }

  batch(batch: Batch): void {
    this.#owned.get(batch)?.session?.accept(batch)
  }

  /** The log was truncated and does not hold the next offset to read. */
  cut(ends: LogEnds): void {
    this.#owned.get(ends)?.cut(ends)
  }

  /** The partition does not exist now. If it reappears, it may belong to a new topic of the same name. */
  gone(tp: TopicPartition, error: Error): void {
    this.#owned.get(tp)?.session?.end('fetch', error)
  }

  async leave(finishMs = this.#options.drainMs): Promise<void> {
    this.#leaving = true
    this.#cancelLook()
    this.#group.member.retire()
    await this.#finish(finishMs)
    this.#tellUncommitted()
    await this.#group.member.leave()
    for (const owned of this.#owned) owned.close()
    this.#owned.clear()
    this.#group.close()
    this.#options.listener.shareChanged?.()
  }

  /** Waits at most `ms` for what is in flight, and commits the outcomes. */
  async #finish(ms: number): Promise<void> {
    const { clock } = this.#options
    const end = clock.monotonic() + ms
    for (const { session } of this.#owned) session?.hold()
    while (this.#isUnfinished() && clock.monotonic() < end) {
      for (const { session } of this.#owned) void session?.committed(true)
      if (this.#group.member.isMember) this.#cycle.go() // it was held by a join that has failed
      await sleep(clock, finishCheckMs)
    }
  }

  #tellUncommitted(): void {
    const count = [...this.#owned].reduce((sum, { tp }) => sum + this.#ledger(tp).size, 0)
    if (count === 0) return
    const message = `the outcomes of ${count} requests were not committed in time: the next owner treats them as in doubt`
    this.#options.telemetry.emit('bus.log', { level: 'warn', message })
  }

  /** Whether anything waits for its commit; also a POST whose lost session is being reopened for its outcome. */
  #isUnfinished(): boolean {
    return [...this.#owned].some(({ tp, session }) => session?.committing || this.#ledger(tp).size > 0)
  }

  #take(tp: TopicPartition): void {
    const owned = new OwnedPartition(tp, this.#options)
    this.#owned.set(tp, owned)
    this.#group.partition(tp).pause()
    void this.#open(owned)
  }

  async #open(owned: OwnedPartition): Promise<void> {
    const awaits = this.#ledger(owned.tp).size > 0
    if (this.#leaving && !awaits) return
    if (!this.#group.member.isMember) {
      this.#reopen(owned, reopenAfterFailureMs) // opening a session would fence the process that now uses its name
      return
    }
    const { clock, listener, telemetry } = this.#options
    const started = clock.monotonic()
    const driver = this.#group.partition(owned.tp)
    const session: PartitionSession = new PartitionSession({
      ...owned.tp,
      cycle: this.#cycle,
      driver,
      listener,
      telemetry,
      clock,
      ledger: this.#ledger(owned.tp),
      tag: this.tag,
      lookBack: this.#options.lookBack?.(owned.tp.topic) ?? 0,
      backlog: this.#backlog.share(),
      startAt: low => this.#startOf(owned.tp, low),
      readsAll: this.#options.readsAll?.(owned.tp.topic) ?? false,
      shortTo: (end, high) => owned.logEnd.shortTo(end, high),
      lookBackMs: this.#options.lookBackMs ?? Number.POSITIVE_INFINITY,
      dataLost: lost => this.#dataLost(owned.tp, lost),
      known: owned,
      committed: (records, windowUsed, checkpoint) => {
        owned.committed(session, checkpoint)
        telemetry.emit('cycle.committed', { ...owned.tp, records, windowUsed })
      },
      lost: (stage, error) => this.#lost(owned, stage, error),
    })
    owned.session = session
    if (this.#joining || this.#leaving) session.hold() // held like the other sessions
    try {
      await session.start()
      if (!session.alive) return
      owned.opened(session)
      const took = (clock.monotonic() - started) / 1000
      const { position: offset, doubtsTakenOver: inDoubt } = session
      const { stale, foreignOffset, committed } = session.taken!
      telemetry.emit('session.opened', { ...owned.tp, offset, committed, inDoubt, stale, took })
      if (foreignOffset !== null) telemetry.emit('session.foreignOffset', { ...owned.tp, offset: foreignOffset })
    } catch (error) {
      if (!session.alive) return
      owned.notOpened(error as Error)
      this.#reopen(owned, reopenAfterFailureMs)
    }
  }

  /** Start offset of a partition without a checkpoint. An added partition starts at its beginning. */
  #startOf(tp: TopicPartition, low: number): number {
    return Math.max(low, this.#firstEnds.get(tp) ?? low) // records that arrive before the partition is opened are sent too
  }

  async #transact(parts: readonly Part[]): Promise<void> {
    const { clock, telemetry } = this.#options
    const started = clock.monotonic()
    await this.#group.commit(parts)
    const records = parts.reduce((sum, part) => sum + part.records.length, 0)
    const seconds = (clock.monotonic() - started) / 1000
    telemetry.emit('commit.confirmed', { partitions: parts.length, records, seconds })
  }

  #lost(owned: OwnedPartition, stage: SessionStage, error: Error): void {
    this.#options.telemetry.emit('session.lost', { ...owned.tp, stage, error })
    this.#reopen(owned, reopenAfterLossMs)
  }

  #reopen(owned: OwnedPartition, ms: number): void {
    owned.reopen(ms, () => void this.#open(owned))
  }

  #ledger(tp: TopicPartition): Ledger {
    const ledger = this.#ledgers.get(tp) ?? new Ledger()
    this.#ledgers.set(tp, ledger)
    return ledger
  }

  #dataLost({ topic, partition }: TopicPartition, lost: LostOffsets): void {
    const { telemetry, recordsOf = () => 'commands' } = this.#options
    telemetry.emit('log.cut', {
      ...{ topic, partition, recordsOf: recordsOf(topic), end: lost.end ?? null, anew: lost.anew ?? false },
      unsent: countOf(lost, 'unsent'),
      unread: countOf(lost, 'unread'),
      unsentOffsets: textOf(lost, 'unsent', 'unread'),
      perhapsSent: countOf(lost, 'perhapsSent'),
      unchecked: countOf(lost, 'unchecked'),
      perhapsSentOffsets: textOf(lost, 'perhapsSent', 'unchecked'),
    })
  }
}
