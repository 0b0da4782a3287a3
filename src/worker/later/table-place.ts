import type { Session, TopicPartition } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { keyText, type LaterKey } from '../../records/later.ts'
import type { WaitingRows } from './waiting-rows.ts'

/** Where the commands of one partition wait. */
export interface Placement {
  /** Of the table. */
  identity: string
  /** Of the table. */
  partition: number
  /** Keys that are on another partition of the table, as after the restore of a backup. */
  strays: ReadonlyMap<string, number>
  /** Nothing of the commands is before it on the table. */
  low: number
}

/** What is remembered while nothing waits. */
export const nothing = '-'

/** What an owner tells the next one: which table, and where to begin to read it. @param from null if nothing waits */
export const memoOf = (identity: string, from: Pick<Placement, 'partition' | 'low'> | null): string =>
  `${identity}:${from ? `${from.partition}:${from.low}` : nothing}`

/** How often the offset is computed from which on the next owner must read. */
const lowMs = 10_000

/** Where the commands of one partition wait on the table, as its next owner is told. */
export class TablePlace {
  readonly #session: Session
  readonly #rows: WaitingRows
  readonly #clock: Clock
  readonly #topic: string
  #placement: Placement
  #raisedAt: number
  /** A computation of the lowest offset that is under way. */
  #raising: { steps: Iterator<number, void>; low: number } | null = null
  /** Number of records whose offset on the table is not known yet. */
  unwritten = 0

  /** @param topic of the table */
  constructor(session: Session, rows: WaitingRows, clock: Clock, topic: string, placement: Placement) {
    this.#session = session
    this.#rows = rows
    this.#clock = clock
    this.#topic = topic
    this.#placement = placement
    this.#raisedAt = clock.monotonic()
  }

  get identity(): string {
    return this.#placement.identity
  }

  get low(): number {
    return this.#placement.low
  }

  /** Where new commands wait. */
  get own(): TopicPartition {
    return { topic: this.#topic, partition: this.#placement.partition }
  }

  of(key: LaterKey): TopicPartition {
    const { strays } = this.#placement
    const stray = strays.size > 0 ? strays.get(keyText(key)) : undefined
    return stray === undefined ? this.own : { topic: this.#topic, partition: stray }
  }

  /** Tells the next owner where to begin to read the table; it is committed with the change itself. */
  remember(): void {
    const { identity, strays } = this.#placement
    if (strays.size > 0) return // the next owner reads everything again
    const isEmpty = this.#rows.size === 0 && this.unwritten === 0
    this.#session.remember(memoOf(identity, isEmpty ? null : this.#placement))
  }

  /** A record was written at this offset: a lower one if the table was made anew. */
  written(at: number): void {
    if (at < this.low) this.move({ ...this.#placement, low: at })
    // the steps may have passed its place among the rows, or have seen those of another table
    if (this.#raising) this.#raising.low = Math.min(this.#raising.low, at)
  }

  /** The commands wait elsewhere than before. */
  move(placement: Placement): void {
    this.#placement = placement
    this.remember()
  }

  /** Computes the lowest offset anew, a step at each call. */
  raise(): void {
    const now = this.#clock.monotonic()
    if (now < this.#raisedAt + lowMs) return
    if (this.#rows.size === 0 || this.unwritten > 0) {
      this.#raising = null
      return
    }
    this.#raising ??= { steps: this.#rows.lowSteps(), low: Number.POSITIVE_INFINITY }
    const { value, done } = this.#raising.steps.next()
    if (!done) {
      this.#raising.low = Math.min(this.#raising.low, value)
      return
    }
    const { low } = this.#raising
    this.#raising = null
    this.#raisedAt = now
    if (Number.isFinite(low)) this.#placement = { ...this.#placement, low: Math.max(this.low, low) }
    this.remember()
  }
}
