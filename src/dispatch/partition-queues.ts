import type { Account } from '../accounts/account.ts'
import type { Backlog, Session } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Return } from './delivery.ts'
import { end, type Pending } from './pending.ts'
import { AccountQueue } from './queue.ts'

export interface PartitionQueuesOptions {
  accounts: ReadonlyMap<string, Account>
  maxOperations: number
  maxAgeMs: number
  clock: Clock
}

/** Accounts that may not send keep together this part of what a partition may hold in memory. */
const keptPart = 1 / 4
/** Records are called back at most this often: each time, those between them are fetched again too. */
const recallMs = 50
/** So are those that expired on the shelf. */
const sweepMs = 5_000

/**
 * The commands of one partition that wait to be sent, by account. What may be held in memory is bounded, so an account
 * that may not send would keep the others' commands from being read: when memory is full, the younger part of its
 * commands goes on the shelf, and is called back as the older part is sent.
 */
export class PartitionQueues {
  readonly session: Session
  readonly #options: PartitionQueuesOptions
  readonly #queues = new Map<string, AccountQueue>()
  /** Whether anything may be on a shelf. */
  #shelved = false
  /** Monotonic milliseconds. */
  #recalledAt = Number.NEGATIVE_INFINITY
  #sweptAt = Number.NEGATIVE_INFINITY

  constructor(session: Session, options: PartitionQueuesOptions) {
    this.session = session
    this.#options = options
  }

  /** The queues by the names of their accounts. */
  get queues(): Iterable<[string, AccountQueue]> {
    return this.#queues
  }

  /** The append time of the oldest command that waits, milliseconds since 1970. */
  get oldestTimestamp(): number | null {
    const oldest = [...this.#queues.values()].map(queue => queue.oldestTimestamp ?? Number.POSITIVE_INFINITY)
    const least = Math.min(...oldest)
    return Number.isFinite(least) ? least : null
  }

  /** An account's envelope left: the other accounts' turn comes first. */
  turn(account: string): void {
    const queue = this.#queues.get(account)!
    this.#queues.delete(account)
    this.#queues.set(account, queue)
  }

  /** Those of an account with a shelf go behind what is there. */
  push(pendings: readonly Pending[]): void {
    const shelved: number[] = []
    for (const pending of pendings) {
      const queue = this.#queueOf(pending)
      if (queue.shelf.isBefore(pending)) {
        queue.shelf.add(pending, this.#options.maxAgeMs)
        end(pending)
        shelved.push(pending.offset)
      } else queue.push(pending)
    }
    if (shelved.length > 0) this.session.shelve(shelved)
  }

  putBack(pendings: readonly Pending[], how: Return): void {
    const [first] = pendings
    const queue = this.#queueOf(first!)
    if (how === 'first') queue.putBack(pendings)
    else if (how === 'halved') queue.putBackHalved(pendings)
    else queue.suspects.push(first!)
  }

  of(account: string): AccountQueue | undefined {
    return this.#queues.get(account)
  }

  /**
   * Calls back from the shelves what there is room for, and makes room.
   * @param held the accounts that may not send now
   * @returns milliseconds until it is to do so again, should nothing happen before
   */
  balance(held: ReadonlySet<string>): number {
    if (!this.session.open) return Number.POSITIVE_INFINITY
    if (this.#shelved && !this.session.recalling && this.#recallIn() <= 0) this.#recall(held)
    if (this.session.full) this.#shelve(held)
    return this.#shelved && !this.session.recalling ? this.#nextBalance() : Number.POSITIVE_INFINITY
  }

  #recallIn(): number {
    return this.#recalledAt + recallMs - this.#options.clock.monotonic()
  }

  #recall(held: ReadonlySet<string>): void {
    const { clock, maxOperations } = this.#options
    const { capacity } = this.session
    const kept = this.#kept(held)
    const envelope = Math.max(1, Math.min(maxOperations, Math.floor(capacity.records * keptPart)))
    const going = { records: Math.max(kept.records, envelope), bytes: capacity.bytes * keptPart }
    const offsets = this.#expired()
    let room = capacity.records / 2
    for (const [name, { length: all, suspects, bytes, shelf }] of this.#queues) {
      const length = all - suspects.length // those wait for others, which may be on the shelf
      const wanted = held.has(name) ? kept : going
      if (shelf.length === 0 || length > wanted.records / 2 || bytes > wanted.bytes / 2) continue
      if (room < 1) break
      const taken = shelf.take({ records: Math.min(wanted.records - length, room), bytes: wanted.bytes - bytes })
      offsets.push(...taken)
      room -= taken.length
    }
    this.#shelved = [...this.#queues.values()].some(({ shelf }) => shelf.length > 0)
    if (offsets.length === 0) return
    this.#recalledAt = clock.monotonic()
    this.session.recall(offsets)
  }

  /** Their results are written when they are read again. */
  #expired(): number[] {
    const { clock } = this.#options
    if (clock.monotonic() < this.#sweptAt + sweepMs) return []
    const expired = [...this.#queues.values()].flatMap(({ shelf }) => shelf.takeExpired(clock.now()))
    if (expired.length > 0) this.#sweptAt = clock.monotonic()
    return expired
  }

  #shelve(held: ReadonlySet<string>): void {
    if (held.size === 0) return
    const kept = this.#kept(held)
    const offsets = [...held].flatMap(name => this.#queues.get(name)?.shelve(kept, this.#options.maxAgeMs) ?? [])
    if (offsets.length === 0) return
    this.#shelved = true
    this.session.shelve(offsets)
  }

  /** What each account that may not send, or has a shelf, keeps in memory. */
  #kept(held: ReadonlySet<string>): Backlog {
    const { records, bytes } = this.session.capacity
    const sharers = [...this.#queues].filter(
      ([name, { length, shelf }]) => shelf.length > 0 || (length > 0 && held.has(name)),
    )
    const part = keptPart / Math.max(1, sharers.length)
    return { records: Math.floor(records * part), bytes: bytes * part }
  }

  #nextBalance(): number {
    const { accounts, clock } = this.#options
    const recallIn = this.#recallIn()
    if (recallIn > 0) return recallIn
    const sweepIn = this.#sweptAt + sweepMs - clock.monotonic()
    const waits = [...this.#queues].map(([name, { length, shelf }]) => {
      const expiresIn = Math.max(1, sweepIn, shelf.nextExpiry - clock.now() + 1)
      const goesIn =
        length === 0 && shelf.length > 0 ? Math.max(1, accounts.get(name)!.wait()) : Number.POSITIVE_INFINITY
      return Math.min(expiresIn, goesIn)
    })
    return Math.min(...waits)
  }

  #queueOf({ command: { account } }: Pending): AccountQueue {
    const queue = this.#queues.get(account) ?? new AccountQueue()
    this.#queues.set(account, queue)
    return queue
  }
}
