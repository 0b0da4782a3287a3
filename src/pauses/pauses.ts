import type { Clock } from '../clock.ts'
import { type Change, keyOf, type Scope } from './change.ts'

/** Sendable is what a pause may be about in a command. */
export interface Sendable {
  account: string
  tenant: string | null
}

/** Clocks are set, and machines sleep: a pause ends no later than this behind its time. */
const longestTimerMs = 60_000

/** Pauses is what is paused now. */
export class Pauses {
  readonly #clock: Clock
  readonly #inForce = new Map<string, Change>()
  readonly #listeners = new Set<(change: Change) => void>()
  #cancelTimer = () => {}
  /** When the timer looks for pauses that are over, milliseconds since 1970; Infinity: there is none. */
  #looksAt = Number.POSITIVE_INFINITY

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
    const known = this.#inForce.get(key)
    if (holds ? known && isSame(known, change) : !known) return
    if (holds) this.#inForce.set(key, change)
    else this.#inForce.delete(key)
    if (holds) this.#lookAt(change.until ?? Number.POSITIVE_INFINITY)
    for (const listener of this.#listeners) listener(holds ? change : { ...change, paused: false })
  }

  close(): void {
    this.#cancelTimer()
    this.#listeners.clear()
  }

  #lookAt(end: number): void {
    const now = this.#clock.now()
    const at = Math.min(end, now + longestTimerMs)
    if (end === Number.POSITIVE_INFINITY || at >= this.#looksAt) return
    this.#cancelTimer()
    this.#looksAt = at
    this.#cancelTimer = this.#clock.after(Math.max(0, at - now), () => this.#look())
  }

  /** Ends what is over. */
  #look(): void {
    this.#looksAt = Number.POSITIVE_INFINITY
    const now = this.#clock.now()
    let next = Number.POSITIVE_INFINITY
    for (const change of [...this.#inForce.values()]) {
      if (change.until === null) continue
      if (change.until <= now) this.apply({ ...change, paused: false })
      else next = Math.min(next, change.until)
    }
    this.#lookAt(next)
  }
}

/** What is read anew is often what was known. */
function isSame(one: Change, other: Change): boolean {
  return one.at === other.at && one.until === other.until && one.by === other.by && one.reason === other.reason
}
