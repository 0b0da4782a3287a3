import type { Clock } from '../../clock.ts'

/** A leader that was just elected may not know the log's end yet. */
const patienceMs = 5_000

/**
 * LogEnd knows where the log of one partition ends against what was read of it: after an unclean election it can be shorter. It
 * outlives the partition's sessions.
 */
export class LogEnd {
  readonly #clock: Clock
  /** Monotonic milliseconds since when the log is told to end before the checkpoint. */
  #shortSince: number | null = null
  /** Where the log ended when its leader knew nothing of the offset to be read next; until a checkpoint tells so. */
  #cutTo: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The log ends at `high`, before the offset that was to be read next. */
  cut(high: number): void {
    this.#cutTo = Math.min(this.#cutTo ?? high, high)
  }

  /** Up to where a log that ends at `high` is what was read up to `end`. @throws Error while that is unsure */
  shortTo(end: number, high: number): number {
    const stays = Math.min(end, this.#cutTo ?? end) // however far it was written again since it was cut
    if (high >= stays) {
      this.#shortSince = null
      return stays
    }
    const now = this.#clock.monotonic()
    this.#shortSince ??= now
    if (now - this.#shortSince >= patienceMs) return high
    throw new Error(`the log ends at ${high}, but records up to ${end} were read from it: its end is asked for again`)
  }

  /** A session has begun with what is left of a log that ends at `high`. */
  begun(high: number): void {
    if (this.#shortSince !== null) this.cut(high)
    this.#shortSince = null
  }

  /** A checkpoint tells by now where the log was cut. */
  told(): void {
    this.#cutTo = null
  }
}
