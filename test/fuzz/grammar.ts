import type { Random } from '../simulation/random.ts'

/** A kind of foreign data: it makes one case of a seed, gives it to busgate, and judges what busgate does. */
export interface Grammar {
  /** What the cases are, in a few words. */
  about: string
  start(): Promise<Running> | Running
}

export interface Running {
  /**
   * Runs one case.
   * @throws Error that says which invariant the case violates
   */
  run(random: Random): Promise<void> | void
  /** Figures about the cases so far, for the summary. */
  figures(): Record<string, number>
  stop?(): void
}
