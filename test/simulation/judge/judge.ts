import type { TopicPartition } from '../../../src/bus/port.ts'
import type { Committed } from '../../../src/bus/session/driver.ts'
import { DONE } from '../../../src/bus/session/window.ts'
import type { Invariant, Violation } from './invariants.ts'
import { Lives, nameOf, placeOf } from './lives.ts'
import { Outcomes, type OutcomesOptions } from './outcomes.ts'
import { Posts, type PostsOptions } from './posts.ts'
import { Progress, stateIn } from './progress.ts'

export interface JudgeOptions extends PostsOptions, OutcomesOptions {
  /** Whether an owner that loses nothing finishes all it has begun before it hands a partition on. */
  drains: boolean
  /** The most commands that a process may have begun, or be about to begin, and not finished. */
  maxIntents: number
}

/**
 * Sees what passes the ports, and nothing of the worker's inside: POSTs and executions at the gateway, transactions and
 * assignments at the broker, heartbeats on the network. The first thing that may not be is kept.
 */
export class Judge {
  violation: Violation | null = null
  readonly lives = new Lives()
  readonly progress: Progress
  readonly posts: Posts
  readonly outcomes: Outcomes
  readonly #options: JudgeOptions

  constructor(options: JudgeOptions) {
    const { lives } = this
    const accuse = this.accuse.bind(this)
    this.#options = options
    this.progress = new Progress()
    this.posts = new Posts(options, { lives, progress: this.progress, accuse })
    this.outcomes = new Outcomes(options, lives, accuse, life => this.posts.isWithdrawn(life))
  }

  get counts() {
    return { ...this.posts.counts, ...this.outcomes.counts }
  }

  accuse(invariant: Invariant, detail: string): void {
    this.violation ??= { invariant, detail }
  }

  /** Between two transactions. */
  checkIntents(): void {
    const { drains, maxIntents, wasDisturbed } = this.#options
    if (!drains || wasDisturbed()) return
    for (const [owner, count] of this.progress.newIntents()) {
      if (count > maxIntents) this.accuse('a kill leaves few in doubt', `${owner.name} has ${count} intents`)
    }
  }

  /**
   * When nothing can happen any more.
   * @param checkpointOf what the group has committed
   * @param losses how often a process was stopped in the middle of its work, or kept from it
   */
  conclude(checkpointOf: (tp: TopicPartition) => Committed | null, losses: number): void {
    const { drains, maxIntents } = this.#options
    for (const life of this.lives) {
      if (life.deleted) continue
      this.outcomes.checkEnd(life)
      for (const place of life.places) {
        const committed = checkpointOf(place)
        if (!committed || stateIn(committed, place) !== DONE)
          this.accuse('one final result', `${nameOf(life)} is not done at ${placeOf(place)}`)
      }
    }
    const { takenOver } = this.outcomes.counts
    if (drains && takenOver > losses * maxIntents) {
      this.accuse('no doubt without a cause', `${takenOver} in doubt, ${losses} processes lost or held up`)
    }
  }
}
