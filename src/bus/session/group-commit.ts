import type { Clock } from '../../clock.ts'
import type { OutgoingRecord } from '../port.ts'

export interface GroupCommitOptions {
  clock: Clock
  /** Least milliseconds between the starts of two commits. */
  interval: () => number
  commit: (records: readonly OutgoingRecord[], settled: readonly number[]) => Promise<void>
  /** Called synchronously after a commit, before anyone who waits for it goes on. */
  committed: (settled: readonly number[], intents: readonly number[]) => void
  failed: (error: Error) => void
}

/** After EndTxn the broker still finishes the transaction; asking again at once meets CONCURRENT_TRANSACTIONS. */
const pauseAfterCommit = 3

interface Cycle {
  records: OutgoingRecord[]
  settled: number[]
  intents: { offsets: readonly number[]; decide: (committed: boolean) => void }[]
  waiters: (() => void)[]
  /** Something changed that is in none of the lists. */
  touched: boolean
}

const emptyCycle = (): Cycle => ({ records: [], settled: [], intents: [], waiters: [], touched: false })

/**
 * One commit a cycle for everything that came together meanwhile: results of finished envelopes, intents of the next.
 * Commits never overlap; at rest there is no timer.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  #next = emptyCycle()
  #running: Cycle | null = null
  #cancelTimer: (() => void) | null = null
  #lastStart = -Infinity
  #lastEnd = -Infinity
  #stopped = false
  #idleChecks: (() => void)[] = []

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  /** Whether a commit is under way or due. */
  get busy(): boolean {
    return this.#running !== null || !this.#isClean(this.#next)
  }

  intend(offsets: readonly number[]): Promise<boolean> {
    if (this.#stopped) return Promise.resolve(false)
    return new Promise(decide => {
      this.#next.intents.push({ offsets, decide })
      this.#schedule()
    })
  }

  settle(offset: number, records: readonly OutgoingRecord[]): void {
    this.#next.settled.push(offset)
    for (const record of records) this.#next.records.push(record)
    this.#schedule()
  }

  /** The state changed without records: commit it too. */
  touch(): void {
    this.#next.touched = true
    this.#schedule()
  }

  /** Resolves when everything said so far is committed, or when there will be no more commit. */
  next(): Promise<void> {
    if (this.#stopped || !this.busy) return Promise.resolve()
    return new Promise(resolve => {
      const cycle = this.#isClean(this.#next) && this.#running ? this.#running : this.#next
      cycle.waiters.push(resolve)
    })
  }

  /** Takes back the intents that no commit has carried yet. @returns their offsets. */
  withdraw(): number[] {
    const intents = this.#next.intents
    this.#next.intents = []
    for (const intent of intents) intent.decide(false)
    return intents.flatMap(intent => intent.offsets)
  }

  /** Resolves when nothing is left to commit and `condition` holds, or after `ms`. */
  idle(condition: () => boolean, ms: number): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        cancel()
        this.#idleChecks = this.#idleChecks.filter(other => other !== check)
        resolve()
      }
      const check = () => {
        if (this.#stopped || (!this.busy && condition())) done()
      }
      const cancel = this.#options.clock.after(ms, done)
      this.#idleChecks.push(check)
      check()
    })
  }

  stop(): void {
    this.#stopped = true
    this.#cancelTimer?.()
    for (const cycle of [this.#running, this.#next]) if (cycle) this.#abandon(cycle)
    this.#next = emptyCycle()
    this.#checkIdle()
  }

  #isClean(cycle: Cycle): boolean {
    return !cycle.touched && cycle.settled.length === 0 && cycle.intents.length === 0
  }

  #schedule(): void {
    if (this.#stopped || this.#running || this.#cancelTimer) return
    const { clock, interval } = this.#options
    const due = Math.max(this.#lastStart + interval(), this.#lastEnd + pauseAfterCommit)
    this.#cancelTimer = clock.after(Math.max(0, due - clock.monotonic()), () => {
      this.#cancelTimer = null
      void this.#run()
    })
  }

  async #run(): Promise<void> {
    const cycle = this.#next
    this.#next = emptyCycle()
    this.#running = cycle
    this.#lastStart = this.#options.clock.monotonic()
    try {
      await this.#options.commit(cycle.records, cycle.settled)
    } catch (error) {
      this.#options.failed(error as Error)
      return
    }
    if (this.#stopped) return
    this.#running = null
    this.#lastEnd = this.#options.clock.monotonic()
    this.#options.committed(
      cycle.settled,
      cycle.intents.flatMap(intent => intent.offsets),
    )
    for (const intent of cycle.intents) intent.decide(true)
    for (const resolve of cycle.waiters) resolve()
    if (!this.#isClean(this.#next)) this.#schedule()
    this.#checkIdle()
  }

  #checkIdle(): void {
    for (const check of [...this.#idleChecks]) check()
  }

  #abandon(cycle: Cycle): void {
    for (const intent of cycle.intents) intent.decide(false)
    for (const resolve of cycle.waiters) resolve()
  }
}
