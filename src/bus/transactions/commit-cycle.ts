import type { Clock } from '../../clock.ts'
import { longestPaceMs, type Part } from '../driver.ts'

export interface CommitCycleOptions {
  clock: Clock
  /** Runs one transaction. @throws any error; whether it was committed is then unknown */
  transact: (parts: readonly Part[]) => Promise<void>
  /** Called when a commit failed; ends all participants. */
  failed: (error: Error) => void
}

/** A partition's session, which adds its part to commits. */
export interface Participant {
  /** Returns the part to commit; called when the transaction is formed. */
  form(): Part
  /** Called after the commit. */
  done(part: Part): void
}

/** Least time between the starts of two commits. */
const leastBetweenCommitsMs = 20
/**
 * Pause after EndTxn, while the broker completes the transaction; an immediate next one fails with CONCURRENT_TRANSACTIONS.
 */
const pauseAfterCommitMs = 3
/**
 * Results wait this long for the next intents: one transaction with both costs no more than one with either. Slightly longer
 * than the longest pause between fetches, because each fetch brings intents, however slow the gateway is.
 */
const resultsWaitMs = longestPaceMs + 6

/**
 * Runs one transaction at a time for all participants, the sessions of a process's partitions. No timer runs while nothing is
 * due.
 */
export class CommitCycle {
  readonly #options: CommitCycleOptions
  #due = new Set<Participant>()
  /** Earliest start of the next commit, in monotonic milliseconds. */
  #dueAt = Number.POSITIVE_INFINITY
  #isRunning = false
  #cancelTimer = () => {}
  #notBefore = Number.NEGATIVE_INFINITY
  #held = false

  constructor(options: CommitCycleOptions) {
    this.#options = options
  }

  /**
   * The participant has something to commit.
   * @param isUrgent commits as soon as possible; else the commit waits for an urgent one, up to `resultsWaitMs`
   */
  request(participant: Participant, isUrgent: boolean): void {
    const { clock } = this.#options
    if (this.#due.size === 0) this.#dueAt = Number.POSITIVE_INFINITY
    this.#due.add(participant)
    const dueAt = clock.monotonic() + (isUrgent ? 0 : resultsWaitMs)
    if (dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#schedule()
  }

  /** Removes the participant. Its part in a commit in flight still commits. */
  remove(participant: Participant): void {
    this.#due.delete(participant)
  }

  /** Delays commits until `go`. */
  hold(): void {
    this.#held = true
    this.#cancelTimer()
  }

  go(): void {
    this.#held = false
    this.#schedule()
  }

  #schedule(): void {
    this.#cancelTimer()
    if (this.#held || this.#isRunning || this.#due.size === 0) return
    const { clock } = this.#options
    const due = Math.max(this.#dueAt, this.#notBefore)
    this.#cancelTimer = clock.after(Math.max(0, due - clock.monotonic()), () => {
      if (this.#due.size > 0) void this.#run()
    })
  }

  async #run(): Promise<void> {
    const { clock, transact, failed } = this.#options
    const participants = [...this.#due]
    this.#due = new Set()
    this.#isRunning = true
    const started = clock.monotonic()
    const parts = participants.map(participant => participant.form())
    const error = await transact(parts).catch((error: Error) => error)
    this.#isRunning = false
    this.#notBefore = Math.max(started + leastBetweenCommitsMs, clock.monotonic() + pauseAfterCommitMs)
    if (error) failed(error)
    else for (const [i, participant] of participants.entries()) participant.done(parts[i]!)
    this.#schedule()
  }
}
