import type { Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'

/** Milliseconds of one turn of the event loop in which records are handled. All others wait for a later turn. */
const mostMs = 20
/** Records handled between two looks at the clock. */
const atOnce = 256
/** Lists of at most this many are handled at once: urgent commands do not queue behind another partition's backlog. */
const few = 32

/**
 * Shares the turns of the event loop among the intakes of a process. Records come in lists of any length: from a fetch, from a
 * commit that frees memory, after the schema or the earlier answer of thousands was found.
 */
export class Turns {
  readonly #clock: Clock
  /** Monotonic milliseconds of the first records of this turn; null before them. */
  #since: number | null = null
  /** In the order in which they go on. */
  readonly #waiting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether records may be handled in this turn. */
  hasTime(): boolean {
    const now = this.#clock.monotonic()
    if (this.#since !== null) return now - this.#since < mostMs
    this.#since = now
    this.#clock.after(0, () => this.#next())
    return true
  }

  /** Calls back in a later turn; `hasTime` must have said no in this one. */
  later(goOn: () => void): void {
    this.#waiting.add(goOn)
  }

  #next(): void {
    this.#since = null
    for (const goOn of this.#waiting) {
      if (!this.hasTime()) return
      this.#waiting.delete(goOn)
      goOn()
    }
  }
}

/** Handles the items of one session in order, as the turns allow. */
export class TurnQueue<T> {
  readonly #session: Pick<Session, 'run'>
  readonly #turns: Turns
  readonly #handle: (items: readonly T[]) => void
  #items: T[] = []
  #isBusy = false
  readonly #goOn = () => this.#handleSome()

  constructor(session: Pick<Session, 'run'>, turns: Turns, handle: (items: readonly T[]) => void) {
    this.#session = session
    this.#turns = turns
    this.#handle = handle
  }

  add(items: readonly T[]): void {
    const isFirst = this.#items.length === 0 && !this.#isBusy
    if (isFirst && items.length <= few) {
      this.#session.run(() => this.#handle(items))
      return
    }
    for (const item of items) this.#items.push(item)
    if (isFirst) this.#handleSome()
  }

  #handleSome(): void {
    this.#isBusy = true
    while (this.#items.length > 0 && this.#turns.hasTime()) {
      const items = this.#items.splice(0, atOnce)
      this.#session.run(() => this.#handle(items))
    }
    this.#isBusy = false
    if (this.#items.length > 0) this.#turns.later(this.#goOn)
  }
}
