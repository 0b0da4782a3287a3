import type { Backlog } from '../../bus/port.ts'
import { expiresAt, type Pending } from '../pending.ts'

interface Shelved {
  offset: number
  timestamp: number
  bytes: number
  /** Milliseconds since 1970. */
  expiresAt: number
}

/** Shelf is what is known of one account's commands on a partition that were forgotten for now, the oldest first. */
export class Shelf {
  #rows: Shelved[] = []
  #isSorted = true
  #bytes = 0
  #nextExpiry = Number.POSITIVE_INFINITY

  get length(): number {
    return this.#rows.length
  }

  /** The append time of the oldest one, milliseconds since 1970. */
  get oldestTimestamp(): number | null {
    return this.#rows[0]?.timestamp ?? null
  }

  /** No command on it expires before this instant, milliseconds since 1970. */
  get nextExpiry(): number {
    return this.#nextExpiry
  }

  /** Tells whether a command came after those that are on the shelf. */
  isBefore({ offset }: Pending): boolean {
    const last = this.#rows.at(-1)
    return last !== undefined && last.offset < offset
  }

  add(pending: Pending, maxAgeMs: number): void {
    const row = {
      offset: pending.offset,
      timestamp: pending.since,
      bytes: pending.heldBytes,
      expiresAt: expiresAt(pending, maxAgeMs),
    }
    const isLast = this.length === 0 || this.isBefore(pending)
    this.#rows.push(row)
    if (!isLast) this.#isSorted = false
    this.#bytes += row.bytes
    this.#nextExpiry = Math.min(this.#nextExpiry, row.expiresAt)
  }

  /** Takes the oldest ones down, about as many as there is room for, one at least. @returns their offsets */
  take(room: Backlog): number[] {
    if (this.length === 0) return []
    if (!this.#isSorted) this.#rows.sort((a, b) => a.offset - b.offset)
    this.#isSorted = true
    const usualBytes = this.#bytes / this.length
    const count = Math.min(Math.floor(room.records), Math.max(1, Math.floor(room.bytes / usualBytes)))
    return this.#down(this.#rows.splice(0, count))
  }

  /** Takes down what has expired by `now`, milliseconds since 1970. @returns their offsets */
  takeExpired(now: number): number[] {
    if (now <= this.#nextExpiry) return []
    const expired = this.#rows.filter(row => row.expiresAt < now)
    this.#rows = this.#rows.filter(row => row.expiresAt >= now)
    this.#nextExpiry = this.#rows.reduce((next, row) => Math.min(next, row.expiresAt), Number.POSITIVE_INFINITY)
    return this.#down(expired)
  }

  #down(rows: readonly Shelved[]): number[] {
    for (const { bytes } of rows) this.#bytes -= bytes
    return rows.map(({ offset }) => offset)
  }
}
