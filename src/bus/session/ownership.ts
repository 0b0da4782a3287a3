import { randomBytes } from 'node:crypto'
import pLimit from 'p-limit'
import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Backlog, Membership, SessionListener, SessionState, TopicPartition } from '../port.ts'
import type { Acquired, Batch, Committed, GroupDriver, GroupEvents, PartitionDriver } from './driver.ts'
import { Ledger } from './ledger.ts'
import { PartitionSession } from './session.ts'

export interface OwnershipOptions {
  listener: SessionListener
  telemetry: Telemetry
  clock: Clock
  drainMs: number
  /** Where a group that was never seen starts. */
  startFrom: 'earliest' | 'latest' | 'fail'
  /** Offsets below its checkpoint that a topic's sessions read again. */
  lookBack?: ((topic: string) => number) | undefined
}

/** Milliseconds before a lost session is opened anew, and before a failed opening is tried again. */
const reopenAfterLoss = 200
const reopenAfterFailure = 500
/** Taking over is a dozen requests: not all partitions at once. */
const openAtOnce = 8
const leastCommitInterval = 20
const commitIntervalPerSession = 2
/** What this process may hold undone in memory, shared by its sessions. */
const backlogInAll: Backlog = { records: 16_000, bytes: 64 << 20 }
const backlogAtMost: Backlog = { records: 4_000, bytes: 16 << 20 }

interface Slot {
  tp: TopicPartition
  driver: PartitionDriver | null
  session: PartitionSession | null
  /** The last commit that was confirmed since the partition was assigned. */
  confirmed: Committed | null
  cancelReopening: () => void
}

const keyOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

/** From assignments to sessions: opens one for each partition the group gives, and again whenever one is lost. */
export class Ownership implements GroupEvents, Membership {
  readonly #options: OwnershipOptions
  readonly #tag = randomBytes(6).toString('base64url')
  readonly #slots = new Map<string, Slot>()
  /** Outlive their sessions: what a POST in flight comes to may still be needed. */
  readonly #ledgers = new Map<string, Ledger>()
  readonly #opening = pLimit(openAtOnce)
  readonly #known = new Set<string>()
  #group!: GroupDriver
  #joining = false
  /** Monotonic milliseconds: until then nobody else can have owned what is owned here. */
  #sureUntil = Number.NEGATIVE_INFINITY
  #leaving = false

  constructor(options: OwnershipOptions) {
    this.#options = options
  }

  /** Called once, before the group is joined. */
  async attach(group: GroupDriver, topics: readonly string[]): Promise<void> {
    this.#group = group
    for (const topic of topics) if (await group.knows(topic)) this.#known.add(topic)
  }

  leaseUntil(): number {
    return this.#group.leaseUntil()
  }

  share(): { owned: number; total: number } {
    return { owned: this.#slots.size, total: this.#group.totalPartitions() }
  }

  *sessions(): Iterable<SessionState> {
    for (const { tp, session } of this.#slots.values()) {
      const { windowUsed = 0, lag = 0, open = false, committing = false } = session ?? {}
      yield { ...tp, windowUsed, lag, open, committing }
    }
  }

  async joining(): Promise<void> {
    this.#joining = true
    this.#sureUntil = Math.max(this.#sureUntil, this.#group.leaseUntil())
    await this.#each(session => session.quiesce(this.#options.drainMs))
  }

  joinFailed(): void {
    this.#joining = false
    for (const { session } of this.#slots.values()) session?.resume()
  }

  assigned(partitions: readonly TopicPartition[]): void {
    this.#joining = false
    const keys = new Set(partitions.map(keyOf))
    const sure = this.#options.clock.monotonic() < this.#sureUntil
    for (const [key, slot] of this.#slots) {
      if (sure && keys.has(key)) continue // else it may have had another owner since
      this.#slots.delete(key)
      this.#close(slot)
    }
    this.#options.listener.shareChanged?.() // what is lost and given back at once was another's in between
    for (const tp of partitions) {
      const slot = this.#slots.get(keyOf(tp))
      if (slot?.session) slot.session.resume()
      else if (!slot && !this.#leaving) this.#take(tp)
    }
    this.#options.listener.shareChanged?.()
  }

  batch(batch: Batch): void {
    const slot = this.#slots.get(keyOf(batch))
    if (slot?.session?.alive && !slot.session.accept(batch)) slot.driver?.seek(slot.session.position)
  }

  fatal(error: Error): void {
    this.#options.listener.fatal(error)
  }

  async leave(): Promise<void> {
    this.#leaving = true
    await this.#each(session => session.quiesce(this.#options.drainMs))
    await this.#group.leave()
    for (const slot of this.#slots.values()) this.#close(slot)
    this.#slots.clear()
    this.#options.listener.shareChanged?.()
  }

  async #each(action: (session: PartitionSession) => Promise<void>): Promise<void> {
    await Promise.all([...this.#slots.values()].map(({ session }) => session && action(session)))
  }

  #take(tp: TopicPartition): void {
    const slot: Slot = { tp, driver: null, session: null, confirmed: null, cancelReopening: () => {} }
    this.#slots.set(keyOf(tp), slot)
    this.#group.partition(tp).pause()
    void this.#opening(() => this.#open(slot))
  }

  async #open(slot: Slot): Promise<void> {
    if (!this.#owns(slot) || this.#leaving) return
    const { clock, listener, telemetry } = this.#options
    const started = clock.monotonic()
    const leased = () => clock.monotonic() < this.#group.leaseUntil()
    if (!leased()) {
      this.#reopen(slot, reopenAfterLoss) // perhaps it has another owner, who is not to be fenced
      return
    }
    const driver = this.#group.partition(slot.tp)
    const session = new PartitionSession({
      ...slot.tp,
      driver,
      listener,
      clock,
      ledger: this.#ledger(slot.tp),
      tag: this.#tag,
      lookBack: this.#options.lookBack?.(slot.tp.topic) ?? 0,
      leased,
      commitInterval: () => Math.max(leastCommitInterval, commitIntervalPerSession * this.#slots.size),
      backlog: () => this.#backlog(),
      startAt: acquired => this.#startAt(slot.tp, acquired),
      confirmed: slot.confirmed,
      committed: (records, windowUsed, checkpoint) => {
        slot.confirmed = checkpoint
        telemetry.emit('cycle.committed', { ...slot.tp, records, windowUsed })
      },
      lost: (stage, error) => this.#lost(slot, stage, error),
    })
    slot.driver = driver
    slot.session = session
    if (this.#joining) void session.quiesce(0) // held until the join is over, like the others
    try {
      await session.start()
      if (!session.alive) return
      const took = (clock.monotonic() - started) / 1000
      const { position: offset, doubtsTakenOver: inDoubt, stale } = session
      telemetry.emit('session.opened', { ...slot.tp, offset, inDoubt, stale, took })
    } catch (error) {
      if (!session.alive) return
      telemetry.emit('session.openFailed', { ...slot.tp, error: error as Error })
      this.#reopen(slot, reopenAfterFailure)
    }
  }

  #lost(slot: Slot, stage: string, error: Error): void {
    this.#options.telemetry.emit('session.lost', { ...slot.tp, stage, error })
    if (this.#owns(slot)) this.#reopen(slot, reopenAfterLoss)
  }

  #reopen(slot: Slot, ms: number): void {
    slot.driver?.pause()
    this.#close(slot)
    slot.cancelReopening = this.#options.clock.after(ms, () => void this.#opening(() => this.#open(slot)))
  }

  #close(slot: Slot): void {
    const { session, driver } = slot
    slot.cancelReopening()
    slot.session = null
    slot.driver = null
    session?.close()
    if (session?.started) {
      this.#options.listener.closed(session)
      this.#options.telemetry.emit('session.closed', slot.tp)
    }
    void driver?.release()
  }

  #owns(slot: Slot): boolean {
    return this.#slots.get(keyOf(slot.tp)) === slot
  }

  #ledger(tp: TopicPartition): Ledger {
    const key = keyOf(tp)
    const ledger = this.#ledgers.get(key) ?? new Ledger()
    this.#ledgers.set(key, ledger)
    return ledger
  }

  #backlog(): Backlog {
    const sessions = Math.max(1, this.#slots.size)
    return {
      records: Math.min(backlogAtMost.records, backlogInAll.records / sessions),
      bytes: Math.min(backlogAtMost.bytes, backlogInAll.bytes / sessions),
    }
  }

  /** Where a partition without a checkpoint starts: one that was added to a known topic, at its beginning. */
  #startAt({ topic, partition }: TopicPartition, { low, high }: Acquired): number {
    const { startFrom } = this.#options
    if (this.#known.has(topic) || startFrom === 'earliest') return low
    if (startFrom === 'latest') return high
    throw new Error(
      `no checkpoint for ${topic}/${partition}, and kafka.startFrom is "fail": ` +
        'set it to earliest or latest for the first start of this group',
    )
  }
}
