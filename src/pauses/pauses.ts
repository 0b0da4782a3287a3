import type { Clock } from '../clock.ts'
import { type Change, keyOf, type Scope } from './change.ts'

/** What a pause may be about in a command. */
export interface Sendable {
  account: string
  tenant: string | null
}

/** A timer can be no longer than that. */
const longestTimerMs = 24 * 3_600_000

/** What is paused now. */
export class Pauses {
  readonly #clock: Clock
  readonly #inForce = new Map<string, Change>()
  readonly #listeners = new Set<(change: Change) => void>()
  #cancelTimer = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isEmpty(): boolean {
    return this.#inForce.size === 0
  }

  get inForce(): Iterable<Change> {
    return this.#inForce.values()
  }

  /** The key of the pause that stops a command of this topic, if any. */
  stopping({ account, tenant }: Sendable, topic: string): string | null {
    if (this.isEmpty) return null
    const scopes: Scope[] = [
      { kind: 'topic', name: topic },
      { kind: 'account', name: account },
    ]
    if (tenant !== null) scopes.push({ kind: 'tenant', name: tenant })
    return scopes.map(keyOf).find(key => this.#inForce.has(key)) ?? null
  }

  /** Calls back after each change, with the last one; a pause that ended by itself is told as a change, too. */
  onChange(listener: (change: Change) => void): void {
    this.#listeners.add(listener)
  }

  apply(change: Change): void {
    const key = keyOf(change)
    const holds = change.paused && (change.until === null || change.until > this.#clock.now())
    if (!holds && !this.#inForce.has(key)) return
    if (holds) this.#inForce.set(key, change)
    else this.#inForce.delete(key)
    this.#awaitEnd()
    for (const listener of this.#listeners) listener(holds ? change : { ...change, paused: false })
  }

  close(): void {
    this.#cancelTimer()
    this.#listeners.clear()
  }

  #awaitEnd(): void {
    this.#cancelTimer()
    const ends = [...this.#inForce.values()].map(({ until }) => until ?? Number.POSITIVE_INFINITY)
    const wait = Math.min(...ends) - this.#clock.now()
    if (!Number.isFinite(wait)) return
    this.#cancelTimer = this.#clock.after(Math.min(Math.max(0, wait), longestTimerMs), () => this.#end())
  }

  #end(): void {
    const now = this.#clock.now()
    const over = [...this.#inForce.values()].filter(({ until }) => until !== null && until <= now)
    for (const change of over) this.apply({ ...change, paused: false })
    if (over.length === 0) this.#awaitEnd()
  }
}
