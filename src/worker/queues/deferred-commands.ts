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

/** A command that will be fetched again. */
interface Deferred {
  offset: number
  timestamp: number
  bytes: number
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** Fraction of a partition's memory that queues that may not send use together. */
const keptPart = 1 / 4
/** Shortest interval between recalls. Each recall also fetches the records in between again. */
const recallMs = 50
/** Poll interval while all commands of an account are deferred, since the account may send again at any time. */
const lookMs = 1_000
const sweepMs = 5_000
const nothing: Backlog = { records: 0, bytes: 0 }

/**
 * Commands of one partition that are deferred to the log. Memory is limited, so commands of a pause, or of an account that may
 * not send, would keep the others from being read. When memory is full, only the offsets of their younger commands are kept,
 * and these are fetched again as the older ones are sent.
 */
export class DeferredCommands {
  readonly #session: Session
  /** The lane of the partition's commands in memory. */
  readonly #lane: Lane
  readonly #options: DeferredCommandsOptions
  /**
   * Deferred commands by the name of their queue in the lane, in offset order. No list is empty. The least recently recalled
   * comes first.
   */
  readonly #queues = new Map<string, Deferred[]>()
  /** Monotonic milliseconds. */
  #recalledAt = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(session: Session, lane: Lane, options: DeferredCommandsOptions) {
    this.#session = session
    this.#lane = lane
    this.#options = options
  }

  /** Append time of the oldest command that is not paused, milliseconds since 1970; Infinity if there is none. */
  get oldestTimestamp(): number {
    const { accounts } = this.#options
    return Math.min(...[...this.#queues].flatMap(([name, rows]) => (accounts.has(name) ? rows[0]!.timestamp : [])))
  }

  get isEmpty(): boolean {
    return this.#queues.size === 0
  }

  has(name: string): boolean {
    return this.#queues.has(name)
  }

  /** Number of deferred commands of a queue. */
  count(name: string): number {
    return this.#queues.get(name)?.length ?? 0
  }

  /** Defers commands that follow a deferred command of their queue. @returns the others */
  takeIn(pendings: readonly Pending[]): readonly Pending[] {
    if (this.isEmpty) return pendings
    this.#defer(
      pendings.filter(pending => {
        const last = this.#queues.get(this.#lane.nameOf(pending))?.at(-1)
        return last !== undefined && last.offset < pending.offset
      }),
    )
    return pendings.filter(({ over }) => !over)
  }

  /** Called when the log lost the records before this offset. */
  forgetBefore(offset: number): void {
    this.#takeOut(row => row.offset < offset)
  }

  /**
   * Recalls commands for which there is room, and defers others if memory is full.
   * @param held names of the queues that may not send now
   * @returns milliseconds until the next call, unless something happens before
   */
  balance(held: ReadonlySet<string>): number {
    const session = this.#session
    if (!session.open) return Number.POSITIVE_INFINITY
    const recallIn = this.#recalledAt + recallMs - this.#options.clock.monotonic()
    if (!this.isEmpty && !session.recalling && recallIn <= 0) this.#recall(held)
    if (held.size > 0 && session.full) this.#makeRoom(held)
    if (this.isEmpty || session.recalling) return Number.POSITIVE_INFINITY
    return recallIn > 0 ? recallIn : lookMs
  }

  #recall(held: ReadonlySet<string>): void {
    const { room } = this.#session
    const kept = this.#kept(held)
    const envelopes = Math.min(2 * this.#options.maxOperations, Math.floor(room.records * keptPart))
    const keptIfSending = { records: Math.max(1, kept.records, envelopes), bytes: room.bytes * keptPart }
    const offsets = this.#takeExpired()
    for (const [name, rows] of [...this.#queues]) {
      const { records, bytes } = this.#lane.of(name)?.on(this.#session) ?? nothing
      const wanted = held.has(name) ? kept : keptIfSending
      const left = Math.max(1, Math.floor(room.records / 2)) - offsets.length
      if (left < 1 || records > wanted.records / 2 || bytes > wanted.bytes / 2) continue
      const taken = take(rows, { records: Math.min(wanted.records - records, left), bytes: wanted.bytes - bytes })
      offsets.push(...taken)
      this.#queues.delete(name)
      if (rows.length > 0) this.#queues.set(name, rows)
    }
    if (offsets.length === 0) return
    this.#recalledAt = this.#options.clock.monotonic()
    this.#session.recall(offsets)
  }

  /** Recalls expired commands, whose results are written when they are read again. @returns their offsets */
  #takeExpired(): number[] {
    const { clock } = this.#options
    if (clock.monotonic() < this.#sweptAt + sweepMs) return []
    this.#sweptAt = clock.monotonic()
    const now = clock.now()
    return this.#takeOut(row => row.expiresAt < now)
  }

  /** @returns the removed offsets */
  #takeOut(goes: (row: Deferred) => boolean): number[] {
    const gone: number[] = []
    for (const [name, rows] of this.#queues) {
      const { out = [], kept = [] } = Object.groupBy(rows, row => (goes(row) ? 'out' : 'kept'))
      for (const { offset } of out) gone.push(offset)
      if (kept.length > 0) this.#queues.set(name, kept)
      else this.#queues.delete(name)
    }
    return gone
  }

  #makeRoom(held: ReadonlySet<string>): void {
    const kept = this.#kept(held)
    this.#defer([...held].flatMap(name => this.#lane.of(name)?.cut(this.#session, kept) ?? []))
  }

  #defer(pendings: readonly Pending[]): void {
    if (pendings.length === 0) return
    const { maxAgeMs } = this.#options
    for (const [name, own] of Map.groupBy(pendings, pending => this.#lane.nameOf(pending))) {
      const rows = own.map(pending => ({
        offset: pending.offset,
        timestamp: pending.since,
        bytes: pending.heldBytes,
        expiresAt: expiresAt(pending, maxAgeMs),
      }))
      this.#queues.set(
        name,
        [...(this.#queues.get(name) ?? []), ...rows].sort((a, b) => a.offset - b.offset),
      )
    }
    for (const pending of pendings) end(pending)
    this.#session.shelve(pendings.map(({ offset }) => offset))
  }

  /** Memory for each queue that may not send, or that has deferred commands. */
  #kept(held: ReadonlySet<string>): Backlog {
    const { records, bytes } = this.#session.capacity
    const sharers = this.#lane.all.filter(
      ([name, queue]) => this.has(name) || (held.has(name) && queue.on(this.#session).records > 0),
    )
    const part = keptPart / Math.max(1, sharers.length)
    return { records: Math.floor(records * part), bytes: bytes * part }
  }
}

/** Takes the oldest commands for which there is room, at least one. @returns their offsets */
function take(rows: Deferred[], room: Backlog): number[] {
  let bytes = 0
  const end = rows.findIndex((row, i) => {
    bytes += row.bytes
    return i > 0 && (i >= room.records || bytes > room.bytes)
  })
  return rows.splice(0, end < 0 ? rows.length : end).map(({ offset }) => offset)
}
