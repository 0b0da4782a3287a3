import { readFileSync } from 'node:fs'
import { type Mutant, mutantsOf } from './mutator.ts'

/** A mutant that no test notices, because no user would. */
export interface Survivor {
  file: string
  /** The changed lines before and after, as `npm run mutants` prints them. */
  line: string
  becomes: string
  reason: string
}

export const survivorsFile = 'test/mutants/survivors.json'

export const readSurvivors = () => JSON.parse(readFileSync(survivorsFile, 'utf8')) as Survivor[]

export const isNamed = (survivors: readonly Survivor[], mutant: Mutant): boolean =>
  survivors.some(survivor => isSame(survivor, mutant))

/** The survivors whose code is gone. */
export const outdated = (survivors: readonly Survivor[]): Survivor[] =>
  survivors.filter(survivor => {
    try {
      return !mutantsOf(survivor.file, readFileSync(survivor.file, 'utf8')).some(mutant => isSame(survivor, mutant))
    } catch {
      return true // the file is gone
    }
  })

const isSame = (survivor: Survivor, { file, line, becomes }: Mutant) =>
  survivor.file === file && survivor.line === line && survivor.becomes === becomes
