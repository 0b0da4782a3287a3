import type { Clock } from '../../clock.ts'
import type { OutgoingRecord } from '../port.ts'
import type { CommitCycle, Participant } from './commit-cycle.ts'
import type { Part } from './driver.ts'

export interface GroupCommitOptions {
  clock: Clock
  /** Commits this session's part, usually with those of other sessions. */
  cycle: CommitCycle
  form: (records: readonly OutgoingRecord[], settled: readonly number[]) => Part
  /** Called synchronously after each commit, even if the session is over. */
  landed: (part: Part) => void
  /** Called synchronously after a commit, before any waiting promise resolves. */
  committed: (settled: readonly number[], intents: readonly number[]) => void
}

interface Cycle {
  records: OutgoingRecord[]
  settled: number[]
  intents: { offsets: readonly number[]; decide: (committed: boolean) => void }[]
  waiters: (() => void)[]
  /** Whether the state changed in a way that no list shows. */
  touched: boolean
  /** Whether a caller cannot continue before the commit. */
  isUrgent: boolean
}

const emptyCycle = (): Cycle => ({
  records: [],
  settled: [],
  intents: [],
  waiters: [],
  touched: false,
  isUrgent: false,
})

/**
 * What one session has to commit, and the promises that wait for it. Everything that is reported before a commit is formed is
 * part of it: results of finished envelopes, and intents of the next ones.
 */
export class GroupCommit implements Participant {
  readonly #options: GroupCommitOptions
  #next = emptyCycle()
  #running: Cycle | null = null
  #stopped = false
  #idleChecks: (() => void)[] = []

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  /** Whether a commit is in flight or due. */
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

  /** Commits a change of state that has no records. */
  touch(): void {
    this.#next.touched = true
    this.#schedule()
  }

  /** Resolves when everything reported so far is committed, or when no further commit will come. */
  next(isUrgent = false): Promise<void> {
    if (this.#stopped || !this.busy) return Promise.resolve()
    return new Promise(resolve => {
      const cycle = this.#isClean(this.#next) && this.#running ? this.#running : this.#next
      cycle.waiters.push(resolve)
      cycle.isUrgent ||= isUrgent
      if (isUrgent) this.#schedule()
    })
  }

  /** Takes back intents that are not part of a commit yet. @returns their offsets */
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
      this.#schedule()
      check()
    })
  }

  stop(): void {
    this.#stopped = true
    this.#options.cycle.withdraw(this)
    for (const cycle of [this.#running, this.#next]) if (cycle) this.#abandon(cycle)
    this.#next = emptyCycle()
    this.#checkIdle()
  }

  form(): Part {
    const cycle = this.#next
    this.#next = emptyCycle()
    this.#running = cycle
    return this.#options.form(cycle.records, cycle.settled)
  }

  done(part: Part): void {
    const { landed, committed } = this.#options
    landed(part)
    if (this.#stopped) return
    const cycle = this.#running!
    this.#running = null
    committed(
      cycle.settled,
      cycle.intents.flatMap(intent => intent.offsets),
    )
    for (const intent of cycle.intents) intent.decide(true)
    for (const resolve of cycle.waiters) resolve()
    this.#schedule()
    this.#checkIdle()
  }

  #isClean(cycle: Cycle): boolean {
    return !cycle.touched && cycle.settled.length === 0 && cycle.intents.length === 0
  }

  #schedule(): void {
    if (!this.#stopped && !this.#running && !this.#isClean(this.#next)) {
      this.#options.cycle.request(this, this.#isUrgent)
    }
  }

  get #isUrgent(): boolean {
    const { intents, isUrgent } = this.#next
    return isUrgent || intents.length > 0 || this.#idleChecks.length > 0
  }

  #checkIdle(): void {
    for (const check of [...this.#idleChecks]) check()
  }

  #abandon(cycle: Cycle): void {
    for (const intent of cycle.intents) intent.decide(false)
    for (const resolve of cycle.waiters) resolve()
  }
}
