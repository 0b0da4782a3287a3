import type { Account } from '../../accounts/account.ts'
import type { Backlog, Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { end, type Pending } from '../pending.ts'
import type { Lane } from './lane.ts'
import { Shelf } from './shelf.ts'

export interface PartitionShelvesOptions {
  accounts: ReadonlyMap<string, Account>
  maxOperations: number
  maxAgeMs: number
  clock: Clock
}

/** Accounts that may not send, and pauses, keep together this part of what a partition may hold in memory. */
const keptPart = 1 / 4
/** Records are called back at most this often: each time, those between them are fetched again too. */
const recallMs = 50
/** Records that expired on the shelf are called back at most this often. */
const sweepMs = 5_000

/**
 * The shelves of one partition, one for each queue of its lane. What may be held in memory is bounded, so an account that
 * may not send, or a pause, would keep the others' commands from being read: when memory is full, the younger part of its
 * commands goes on the shelf, and is called back as the older part is sent.
 */
export class PartitionShelves {
  readonly #session: Session
  /** Where the partition's commands wait in memory. */
  readonly #lane: Lane
  readonly #options: PartitionShelvesOptions
  /** The shelves by the names of their queues; those come first from which least was called back lately. */
  readonly #shelves = new Map<string, Shelf>()
  /** Whether anything may be on a shelf. */
  #shelved = false
  /** Monotonic milliseconds. */
  #recalledAt = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(session: Session, lane: Lane, options: PartitionShelvesOptions) {
    this.#session = session
    this.#lane = lane
    this.#options = options
  }

  /** The append time of the oldest command on a shelf of an account, milliseconds since 1970. */
  get oldestTimestamp(): number | null {
    const shelves = [...this.#shelves].flatMap(([name, shelf]) => (this.#options.accounts.has(name) ? shelf : []))
    const oldest = shelves.map(shelf => shelf.oldestTimestamp ?? Number.POSITIVE_INFINITY)
    const least = Math.min(...oldest)
    return Number.isFinite(least) ? least : null
  }

  /** Tells whether `balance` has anything to do while every account may send. */
  get isUsed(): boolean {
    return this.#shelved
  }

  has(name: string): boolean {
    return (this.#shelves.get(name)?.length ?? 0) > 0
  }

  /** Puts commands of a queue with a shelf behind what is there. @returns the others */
  takeIn(pendings: readonly Pending[]): readonly Pending[] {
    if (!this.#shelved) return pendings
    const shelved = pendings.filter(pending => this.#shelves.get(this.#lane.nameOf(pending))?.isBefore(pending))
    if (shelved.length === 0) return pendings
    this.#put(shelved)
    return pendings.filter(({ over }) => !over)
  }

  /**
   * Calls back from the shelves what there is room for, and makes room.
   * @param held the names of the queues of which nothing may be sent now
   * @returns milliseconds until it is to do so again, should nothing happen before
   */
  balance(held: ReadonlySet<string>): number {
    const session = this.#session
    if (!session.open) return Number.POSITIVE_INFINITY
    if (this.#shelved && !session.recalling && this.#recallIn() <= 0) this.#recall(held)
    if (held.size > 0 && session.full) this.#makeRoom(held)
    return this.#shelved && !session.recalling ? this.#nextBalance(held) : Number.POSITIVE_INFINITY
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
    const offsets = this.#expired()
    let room = Math.max(1, now.records / 2)
    for (const [name, shelf] of [...this.#shelves]) {
      const { records, bytes } = this.#inMemory(name)
      const wanted = held.has(name) ? kept : going
      if (shelf.length === 0 || records > wanted.records / 2 || bytes > wanted.bytes / 2) continue
      if (room < 1) break
      const taken = shelf.take({ records: Math.min(wanted.records - records, room), bytes: wanted.bytes - bytes })
      offsets.push(...taken)
      room -= taken.length
      this.#shelves.delete(name)
      this.#shelves.set(name, shelf)
    }
    this.#shelved = [...this.#shelves.values()].some(({ length }) => length > 0)
    if (offsets.length === 0) return
    this.#recalledAt = clock.monotonic()
    this.#session.recall(offsets)
  }

  /** Calls back what has expired on the shelf, since its results are written when it is read again. */
  #expired(): number[] {
    const { clock } = this.#options
    if (clock.monotonic() < this.#sweptAt + sweepMs) return []
    const expired = [...this.#shelves.values()].flatMap(shelf => shelf.takeExpired(clock.now()))
    if (expired.length > 0) this.#sweptAt = clock.monotonic()
    return expired
  }

  #makeRoom(held: ReadonlySet<string>): void {
    const kept = this.#kept(held)
    const cut = [...held].flatMap(name => this.#lane.of(name)?.cut(this.#session, kept) ?? [])
    if (cut.length > 0) this.#put(cut)
  }

  #put(pendings: readonly Pending[]): void {
    for (const pending of pendings) {
      const name = this.#lane.nameOf(pending)
      const shelf = this.#shelves.get(name) ?? new Shelf()
      this.#shelves.set(name, shelf)
      shelf.add(pending, this.#options.maxAgeMs)
      end(pending)
    }
    this.#shelved = true
    this.#session.shelve(pendings.map(({ offset }) => offset))
  }

  /** Tells what each queue of which nothing may be sent, or that has a shelf, keeps in memory. */
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
    const pausedFor = (name: string) => (held.has(name) ? Number.POSITIVE_INFINITY : 0)
    const recallIn = this.#recallIn()
    if (recallIn > 0) return recallIn
    const sweepIn = this.#sweptAt + sweepMs - clock.monotonic()
    const waits = [...this.#shelves].map(([name, shelf]) => {
      const expiresIn = Math.max(1, sweepIn, shelf.nextExpiry - clock.now() + 1)
      const isAll = shelf.length > 0 && this.#inMemory(name).records === 0
      const goesIn = isAll ? Math.max(1, accounts.get(name)?.wait() ?? pausedFor(name)) : Number.POSITIVE_INFINITY
      return Math.min(expiresIn, goesIn)
    })
    return Math.min(...waits)
  }

  #inMemory(name: string): Backlog {
    return this.#lane.of(name)?.on(this.#session) ?? { records: 0, bytes: 0 }
  }
}
