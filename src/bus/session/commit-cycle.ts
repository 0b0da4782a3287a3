import type { Clock } from '../../clock.ts'
import { longestPaceMs, type Part } from './driver.ts'

export interface CommitCycleOptions {
  clock: Clock
  /** One transaction. @throws whatever happened: whether it was committed is then unknown. */
  transact: (parts: readonly Part[]) => Promise<void>
  /** A commit failed, and its participants with it. Nothing more is committed. */
  failed: (error: Error) => void
}

/** Whoever has a part in commits: a partition's session. */
export interface Participant {
  /** Tells what there is to commit, asked for at the moment when the transaction forms. */
  form(): Part
  /** Called synchronously after the commit, for all participants before anyone who waits for one of them goes on. */
  done(part: Part): void
}

/** Least time between the starts of two commits. */
const intervalMs = 20
/**
 * The pause after EndTxn, when the broker still finishes the transaction; asking again at once meets
 * CONCURRENT_TRANSACTIONS.
 */
const pauseAfterCommit = 3
/**
 * Results wait so long for intents to go with: a transaction costs the same with both. It is a little longer than fetches
 * leave brokers at a trickle, so that the next intents are there by then, however long the gateway takes.
 */
const patienceMs = longestPaceMs + 6

/**
 * One transaction at a time for what its participants have to commit: those of all of a process's partitions, or one
 * alone. At rest there is no timer.
 */
export class CommitCycle {
  readonly #options: CommitCycleOptions
  #due = new Set<Participant>()
  /** The next commit begins no sooner, in monotonic milliseconds. */
  #dueAt = Number.POSITIVE_INFINITY
  #running: ReadonlySet<Participant> = new Set()
  #cancelTimer: (() => void) | null = null
  #lastStart = Number.NEGATIVE_INFINITY
  #lastEnd = Number.NEGATIVE_INFINITY
  #held = false
  #failed = false

  constructor(options: CommitCycleOptions) {
    this.#options = options
  }

  /**
   * The participant has something to commit.
   * @param isUrgent whether somebody waits for it; else it goes with what is urgent, or after a while
   */
  request(participant: Participant, isUrgent: boolean): void {
    const { clock } = this.#options
    if (this.#due.size === 0) this.#dueAt = Number.POSITIVE_INFINITY
    this.#due.add(participant)
    const dueAt = clock.monotonic() + (isUrgent ? 0 : patienceMs)
    if (dueAt >= this.#dueAt) return
    this.#dueAt = dueAt
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#schedule()
  }

  /** The participant has nothing to say any more. What is under way of it goes on. */
  withdraw(participant: Participant): void {
    this.#due.delete(participant)
  }

  /** No commit begins until `go`. */
  hold(): void {
    this.#held = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  go(): void {
    this.#held = false
    this.#schedule()
  }

  #schedule(): void {
    if (this.#held || this.#failed || this.#cancelTimer || this.#running.size > 0 || this.#due.size === 0) return
    const { clock } = this.#options
    const due = Math.max(this.#dueAt, this.#lastStart + intervalMs, this.#lastEnd + pauseAfterCommit)
    this.#cancelTimer = clock.after(Math.max(0, due - clock.monotonic()), () => {
      this.#cancelTimer = null
      if (this.#due.size > 0) void this.#run()
    })
  }

  async #run(): Promise<void> {
    const { clock, transact, failed } = this.#options
    const participants = this.#due
    this.#running = participants
    this.#due = new Set()
    this.#lastStart = clock.monotonic()
    const parts = [...participants].map(participant => ({ participant, part: participant.form() }))
    try {
      await transact(parts.map(({ part }) => part))
    } catch (error) {
      this.#failed = true
      failed(error as Error)
      return
    }
    this.#running = new Set()
    this.#lastEnd = clock.monotonic()
    for (const { participant, part } of parts) participant.done(part)
    this.#schedule()
  }
}
