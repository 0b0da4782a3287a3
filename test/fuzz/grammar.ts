import fc from 'fast-check'
import type { Random } from '../simulation/random.ts'

/** A kind of foreign data: it makes cases of a seed, gives them to busgate, and judges what busgate does. */
export interface Grammar {
  /** What the cases are, in a few words. */
  about: string
  start(): Promise<Running> | Running
}

export interface Running {
  /**
   * Runs the cases of one seed.
   * @throws Error that says which invariant a case violates
   */
  run(random: Random): Promise<void> | void
  /** Figures about the cases so far, for the summary. */
  figures?(): Record<string, number>
  stop?(): Promise<void> | void
}

/** Properties by their statements, of which each holds for any data. */
export type Properties = Readonly<Record<string, fc.IAsyncProperty<unknown>>>

/** A grammar of properties. A seed stands for some cases of each; a failing case is made smaller before it is shown. */
export function grammarOf(about: string, properties: Properties, casesOfSeed: number): Grammar {
  return {
    about,
    start: () => ({
      async run(random) {
        for (const [statement, property] of Object.entries(properties)) {
          const outcome = await fc.check(property, { seed: random.int(0, 2 ** 31 - 1), numRuns: casesOfSeed })
          if (!outcome.failed) continue
          const { stack } = outcome.errorInstance as Error
          throw new Error(`not true: ${statement}. ${fc.defaultReportMessage(outcome)}\n${stack}`)
        }
      },
    }),
  }
}
