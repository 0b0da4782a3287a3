import type { Account } from '../../accounts/account.ts'
import type { Backlog, Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { end, expiresAt, type Pending } from '../pending.ts'
import type { Lane } from './lane.ts'

export interface DeferredCommandsOptions {
  accounts: ReadonlyMap<string, Account>
  maxOperations: number
  maxAgeMs: number
  clock: Clock
}

/** What is kept of a command that is to be fetched again. */
interface Deferred {
  offset: number
  timestamp: number
  bytes: number
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** The deferred commands of one account or pause, in the order of their offsets. */
interface DeferredQueue {
  rows: Deferred[]
  /** None of them expires before this instant, milliseconds since 1970. */
  nextExpiry: number
}

/** Accounts that may not send, and pauses, keep together this part of what a partition may hold in memory. */
const keptPart = 1 / 4
/** Records are recalled at most this often: each time, those between them are fetched again too. */
const recallMs = 50
/** Deferred commands that expired are recalled at most this often. */
const sweepMs = 5_000

const byOffset = (a: Deferred, b: Deferred) => a.offset - b.offset
const earliestExpiry = (rows: readonly Deferred[]) =>
  rows.reduce((earliest, row) => Math.min(earliest, row.expiresAt), Number.POSITIVE_INFINITY)

/**
 * The commands of one partition that are left on the log for now. Memory is bounded, so an account that may not send, or a
 * pause, would keep the others' commands from being read: when memory is full, the younger part of its commands is
 * forgotten but for their offsets, and fetched again as the older part is sent.
 */
export class DeferredCommands {
  readonly #session: Session
  /** Where the partition's commands wait in memory. */
  readonly #lane: Lane
  readonly #options: DeferredCommandsOptions
  /** None is empty. By the names of their queues in the lane; least was recalled lately from the first. */
  readonly #queues = new Map<string, DeferredQueue>()
  /** Monotonic milliseconds. */
  #recalledAt = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(session: Session, lane: Lane, options: DeferredCommandsOptions) {
    this.#session = session
    this.#lane = lane
    this.#options = options
  }

  /** The append time of the oldest one that is not paused, milliseconds since 1970. */
  get oldestTimestamp(): number | null {
    const { accounts } = this.#options
    const times = [...this.#queues].flatMap(([name, { rows }]) => (accounts.has(name) ? rows[0]!.timestamp : []))
    return times.length > 0 ? Math.min(...times) : null
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0
  }

  has(name: string): boolean {
    return this.#queues.has(name)
  }

  /** Defers commands whose queue has deferred ones before them. @returns the others */
  takeIn(pendings: readonly Pending[]): readonly Pending[] {
    if (this.isEmpty) return pendings
    const behind = pendings.filter(pending => {
      const last = this.#queues.get(this.#lane.nameOf(pending))?.rows.at(-1)
      return last !== undefined && last.offset < pending.offset
    })
    if (behind.length === 0) return pendings
    this.#defer(behind)
    return pendings.filter(({ over }) => !over)
  }

  /** Records before this offset are gone from the log. */
  forgetBefore(offset: number): void {
    this.#takeOut(row => row.offset < offset)
  }

  /**
   * Recalls what there is room for, and makes room.
   * @param held the names of the queues of which nothing may be sent now
   * @returns milliseconds until it is to do so again, should nothing happen before
   */
  balance(held: ReadonlySet<string>): number {
    const session = this.#session
    if (!session.open) return Number.POSITIVE_INFINITY
    if (!this.isEmpty && !session.recalling && this.#recallIn() <= 0) this.#recall(held)
    if (held.size > 0 && session.full) this.#makeRoom(held)
    return this.isEmpty || session.recalling ? Number.POSITIVE_INFINITY : this.#nextBalance(held)
  }

  #recallIn(): number {
    return this.#recalledAt + recallMs - this.#options.clock.monotonic()
  }

  #recall(held: ReadonlySet<string>): void {
    const { clock, maxOperations } = this.#options
    const { room: now } = this.#session
    const kept = this.#kept(held)
    const envelopes = Math.max(1, Math.min(2 * maxOperations, Math.floor(now.records * keptPart)))
    const going = { records: Math.max(kept.records, envelopes), bytes: now.bytes * keptPart }
    const offsets = this.#takeExpired()
    let room = Math.max(1, now.records / 2)
    for (const [name, queue] of [...this.#queues]) {
      const { records, bytes } = this.#inMemory(name)
      const wanted = held.has(name) ? kept : going
      if (records > wanted.records / 2 || bytes > wanted.bytes / 2) continue
      if (room < 1) break
      const taken = take(queue, { records: Math.min(wanted.records - records, room), bytes: wanted.bytes - bytes })
      offsets.push(...taken)
      room -= taken.length
      this.#queues.delete(name)
      if (queue.rows.length > 0) this.#queues.set(name, queue)
    }
    if (offsets.length === 0) return
    this.#recalledAt = clock.monotonic()
    this.#session.recall(offsets)
  }

  /** The results of what has expired are written when it is read again. @returns their offsets */
  #takeExpired(): number[] {
    const { clock } = this.#options
    if (clock.monotonic() < this.#sweptAt + sweepMs) return []
    const now = clock.now()
    if (![...this.#queues.values()].some(({ nextExpiry }) => nextExpiry < now)) return []
    const expired = this.#takeOut(row => row.expiresAt < now)
    if (expired.length > 0) this.#sweptAt = clock.monotonic()
    return expired
  }

  /** @returns the offsets of those that went */
  #takeOut(goes: (row: Deferred) => boolean): number[] {
    const gone: number[] = []
    for (const [name, queue] of this.#queues) {
      const { out = [], kept = [] } = Object.groupBy(queue.rows, row => (goes(row) ? 'out' : 'kept'))
      for (const { offset } of out) gone.push(offset)
      queue.rows = kept
      queue.nextExpiry = earliestExpiry(kept)
      if (kept.length === 0) this.#queues.delete(name)
    }
    return gone
  }

  #makeRoom(held: ReadonlySet<string>): void {
    const kept = this.#kept(held)
    const cut = [...held].flatMap(name => this.#lane.of(name)?.cut(this.#session, kept) ?? [])
    if (cut.length > 0) this.#defer(cut)
  }

  #defer(pendings: readonly Pending[]): void {
    const { maxAgeMs } = this.#options
    for (const [name, own] of Map.groupBy(pendings, pending => this.#lane.nameOf(pending))) {
      const rows = own.map(pending => ({
        offset: pending.offset,
        timestamp: pending.since,
        bytes: pending.heldBytes,
        expiresAt: expiresAt(pending, maxAgeMs),
      }))
      const { rows: before, nextExpiry } = this.#queues.get(name) ?? { rows: [], nextExpiry: Number.POSITIVE_INFINITY }
      this.#queues.set(name, {
        rows: [...before, ...rows].sort(byOffset),
        nextExpiry: Math.min(nextExpiry, earliestExpiry(rows)),
      })
    }
    for (const pending of pendings) end(pending)
    this.#session.shelve(pendings.map(({ offset }) => offset))
  }

  /** Tells what each queue of which nothing may be sent, or that has deferred commands, keeps in memory. */
  #kept(held: ReadonlySet<string>): Backlog {
    const { records, bytes } = this.#session.capacity
    const sharers = this.#lane.all.filter(
      ([name]) => this.has(name) || (held.has(name) && this.#inMemory(name).records > 0),
    )
    const part = keptPart / Math.max(1, sharers.length)
    return { records: Math.floor(records * part), bytes: bytes * part }
  }

  #nextBalance(held: ReadonlySet<string>): number {
    const { accounts, clock } = this.#options
    const recallIn = this.#recallIn()
    if (recallIn > 0) return recallIn
    const sweepIn = this.#sweptAt + sweepMs - clock.monotonic()
    const waits = [...this.#queues].map(([name, { nextExpiry }]) => {
      const expiresIn = Math.max(1, sweepIn, nextExpiry - clock.now() + 1)
      if (this.#inMemory(name).records > 0) return expiresIn
      const pausedFor = held.has(name) ? Number.POSITIVE_INFINITY : 0
      return Math.min(expiresIn, Math.max(1, accounts.get(name)?.wait() ?? pausedFor))
    })
    return Math.min(...waits)
  }

  #inMemory(name: string): Backlog {
    return this.#lane.of(name)?.on(this.#session) ?? { records: 0, bytes: 0 }
  }
}

/** Takes the oldest ones, about as many as there is room for, one at least. @returns their offsets */
function take(queue: DeferredQueue, room: Backlog): number[] {
  const usualBytes = queue.rows.reduce((sum, { bytes }) => sum + bytes, 0) / queue.rows.length
  const count = Math.min(Math.floor(room.records), Math.max(1, Math.floor(room.bytes / usualBytes)))
  return queue.rows.splice(0, count).map(({ offset }) => offset)
}
