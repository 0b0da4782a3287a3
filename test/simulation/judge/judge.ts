import type { Committed } from '../../../src/bus/driver.ts'
import type { TopicPartition } from '../../../src/bus/port.ts'
import { DONE } from '../../../src/bus/session/window.ts'
import type { Invariant, Violation } from './invariants.ts'
import { type Life, Lives, nameOf, placeOf } from './lives.ts'
import { Outcomes, type OutcomesOptions } from './outcomes.ts'
import { Posts, type PostsOptions } from './posts.ts'
import { Progress, stateIn } from './progress.ts'
import { Refusals, type RefusalsOptions } from './refusals.ts'

export interface JudgeOptions extends PostsOptions, OutcomesOptions, RefusalsOptions {
  /** Whether an undisturbed process finishes all its requests before it gives a partition up. */
  drains: boolean
  /** The limit of open intents of a process. */
  maxIntents: number
}

/**
 * Checks the invariants, and keeps the first violation. It sees only what passes the ports, and nothing inside the
 * worker: POSTs and executions at the gateway, transactions and assignments at the broker, heartbeats on the network.
 */
export class Judge {
  violation: Violation | null = null
  readonly lives = new Lives()
  readonly progress: Progress
  readonly posts: Posts
  readonly outcomes: Outcomes
  readonly refusals: Refusals
  readonly #options: JudgeOptions

  constructor(options: JudgeOptions) {
    const { lives } = this
    const report = this.report.bind(this)
    this.#options = options
    this.progress = new Progress()
    this.refusals = new Refusals(options, report)
    const { refusals, progress } = this
    this.posts = new Posts(options, { lives, progress, refusals, report })
    const isWithdrawn = (life: Life) => this.posts.isWithdrawn(life)
    this.outcomes = new Outcomes(options, { lives, refusals, report, isWithdrawn })
  }

  get counts() {
    return { ...this.posts.counts, ...this.outcomes.counts }
  }

  report(invariant: Invariant, detail: string): void {
    this.violation ??= { invariant, detail }
  }

  /** Checks the number of open intents between two transactions. */
  checkIntents(): void {
    const { drains, maxIntents, wasDisturbed } = this.#options
    if (!drains || wasDisturbed()) return
    for (const [owner, count] of this.progress.newIntents()) {
      if (count > maxIntents) this.report('a kill leaves few doubts', `${owner.name} has ${count} intents`)
    }
  }

  /**
   * Checks the end of a world, when nothing can happen any more.
   * @param checkpointOf the committed checkpoint of a partition
   * @param losses how often a process was killed or held up in its work, or lost a session
   */
  conclude(checkpointOf: (tp: TopicPartition) => Committed | null, losses: number): void {
    const { drains, maxIntents } = this.#options
    for (const life of this.lives) {
      if (life.deleted) continue
      this.outcomes.checkEnd(life)
      if (life.waitsAt) this.report('nothing is left over', `${nameOf(life)} waits still, at ${placeOf(life.waitsAt)}`)
      for (const place of [...life.places, ...life.copies]) {
        const committed = checkpointOf(place)
        if (!committed || stateIn(committed, place) !== DONE)
          this.report('one final result', `${nameOf(life)} is not done at ${placeOf(place)}`)
      }
    }
    const { takenOver } = this.outcomes.counts
    if (drains && takenOver > losses * maxIntents) {
      this.report('no doubt without a cause', `${takenOver} in doubt, ${losses} processes lost or held up`)
    }
  }
}
