import type { OutgoingRecord } from '../port.ts'

interface Cycle {
  records: OutgoingRecord[]
  settled: number[]
  intents: number[]
  /** Resolves with whether the intents are committed. */
  decided: PromiseWithResolvers<boolean>
  /** Resolves when the commit has succeeded, or will not come. */
  ended: PromiseWithResolvers<void>
  /** Whether there is a change besides records, settled and intents. */
  touched: boolean
  /** Whether a caller cannot continue before the commit. */
  isUrgent: boolean
}

const emptyCycle = (): Cycle => ({
  records: [],
  settled: [],
  intents: [],
  decided: Promise.withResolvers(),
  ended: Promise.withResolvers(),
  touched: false,
  isUrgent: false,
})

const isClean = ({ touched, settled, intents }: Cycle) => !touched && settled.length === 0 && intents.length === 0

/**
 * What one session has to commit, and the promises that wait for it. Everything that is reported before a commit begins is
 * part of it: results of finished envelopes, and intents of the next ones.
 */
export class SessionCommits {
  /** Asks for a commit: at once if urgent, else with the next urgent one or after a while. */
  readonly #request: (isUrgent: boolean) => void
  #next = emptyCycle()
  #running: Cycle | null = null

  constructor(request: (isUrgent: boolean) => void) {
    this.#request = request
  }

  /** Whether a commit is in flight or due. */
  get busy(): boolean {
    return this.#running !== null || !isClean(this.#next)
  }

  /** @returns whether the intents were committed */
  intend(offsets: readonly number[]): Promise<boolean> {
    const next = this.#next
    next.intents.push(...offsets)
    next.isUrgent = true
    this.#schedule()
    return next.decided.promise
  }

  settle(offset: number, records: readonly OutgoingRecord[]): void {
    this.#next.settled.push(offset)
    for (const record of records) this.#next.records.push(record)
    this.#schedule()
  }

  /** Commits records that are the outcome of no single offset. */
  add(records: readonly OutgoingRecord[]): void {
    for (const record of records) this.#next.records.push(record)
    this.touch()
  }

  /** Commits a change of state that has no records. */
  touch(): void {
    this.#next.touched = true
    this.#schedule()
  }

  /** Resolves when everything reported so far is committed, or when no further commit will come. */
  next(isUrgent: boolean): Promise<void> {
    if (!this.busy) return Promise.resolve()
    const cycle = isClean(this.#next) && this.#running ? this.#running : this.#next
    cycle.isUrgent ||= isUrgent
    this.#schedule()
    return cycle.ended.promise
  }

  /** Takes back intents that are not part of a commit yet. @returns their offsets */
  takeBack(): number[] {
    const { intents, decided } = this.#next
    this.#next.intents = []
    this.#next.decided = Promise.withResolvers()
    decided.resolve(false)
    if (isClean(this.#next)) this.#endEmpty()
    return intents
  }

  /** Nothing is left to commit: who waits for it would wait for ever. */
  #endEmpty(): void {
    const { ended } = this.#next
    this.#next.ended = Promise.withResolvers()
    if (this.#running) void this.#running.ended.promise.then(ended.resolve)
    else ended.resolve()
  }

  /** Begins a commit. @returns what it commits */
  begin(): Readonly<Cycle> {
    this.#running = this.#next
    this.#next = emptyCycle()
    return this.#running
  }

  /**
   * The commit has succeeded. Promises that wait for it resolve after the caller's synchronous code. @returns what it
   * committed
   */
  end(): Readonly<Cycle> {
    const ended = this.#running!
    this.#running = null
    ended.decided.resolve(true)
    ended.ended.resolve()
    this.#schedule()
    return ended
  }

  /** No commit will succeed any more. */
  stop(): void {
    for (const cycle of [this.#running, this.#next]) {
      cycle?.decided.resolve(false)
      cycle?.ended.resolve()
    }
  }

  #schedule(): void {
    if (!this.#running && !isClean(this.#next)) this.#request(this.#next.isUrgent)
  }
}
