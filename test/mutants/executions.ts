import { hash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isEndToEnd } from './imports.ts'

/** From the first character to the one after the last. */
export type Interval = readonly [start: number, end: number]

/** What a test file executes of each file in `src/`. */
export interface Execution {
  /** CPU time, which does not depend on what else the machine does. */
  milliseconds: number
  ran: Record<string, readonly Interval[]>
}

const cache = '.cache/mutants/executions.json'

interface Measured extends Execution {
  /** Hashes at the time: of the test, and of each file that it executes. */
  hashes: Record<string, string>
}

/** Knows which tests execute a place, as measured when the files were the same. */
export class Executions {
  readonly #tests: Record<string, Measured> = existsSync(cache)
    ? (JSON.parse(readFileSync(cache, 'utf8')) as Record<string, Measured>)
    : {}

  /** Keeps what the setup file of a measuring run wrote into a folder. @param root where the run had the project */
  keep(folder: string, root: string): void {
    for (const file of globSync(join(folder, '*.json'))) {
      const test = decodeURIComponent(basename(file, '.json'))
      const execution = JSON.parse(readFileSync(file, 'utf8')) as Execution
      const files = [test, ...Object.keys(execution.ran)]
      const hashes = Object.fromEntries(files.map(file => [file, hashOf(join(root, file))]))
      this.#tests[test] = { ...execution, hashes }
    }
    mkdirSync(dirname(cache), { recursive: true })
    writeFileSync(cache, JSON.stringify(this.#tests))
  }

  /** Whether neither the test nor what it executes has changed since it was measured. */
  isMeasured(test: string): boolean {
    const measured = this.#tests[test]
    return measured !== undefined && Object.keys(measured.hashes).every(file => isSame(measured, file))
  }

  millisecondsOf(test: string): number | undefined {
    return this.#tests[test]?.milliseconds
  }

  /** How much of a file a test executes, 0 to 1; 1 if that is not known. The test of a file executes most of it. */
  shareOf(test: string, file: string): number {
    const intervals = this.#tests[test]?.ran[file]
    if (!intervals) return 1
    const executed = intervals.reduce((sum, [start, end]) => sum + end - start, 0)
    return Math.min(1, executed / readFileSync(file, 'utf8').length)
  }

  /** Whether a test executes a place of a file that it imports. If that is not known, every unit test does, and no other. */
  has(test: string, file: string, place: Interval): boolean {
    const measured = this.#tests[test]
    if (!measured || !isSame(measured, test)) return !isEndToEnd(test)
    const intervals = measured.ran[file]
    return intervals !== undefined && (isSame(measured, file) ? touches(intervals, place) : !isEndToEnd(test))
  }
}

function isSame({ hashes }: Measured, file: string): boolean {
  return existsSync(file) && hashes[file] === hashOf(file)
}

const touches = (intervals: readonly Interval[], [start, end]: Interval): boolean =>
  intervals.some(interval => interval[0] < end && start < interval[1])

const hashes = new Map<string, string>()

function hashOf(file: string): string {
  const known = hashes.get(file)
  if (known !== undefined) return known
  const found = hash('sha256', readFileSync(file))
  hashes.set(file, found)
  return found
}
