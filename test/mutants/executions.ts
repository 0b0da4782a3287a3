import { hash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
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

interface Cached {
  /** Hash of each file at the time. */
  hashes: Record<string, string>
  tests: Record<string, Execution>
}

/** Knows which tests execute a place, as measured when the files were the same. */
export class Executions {
  readonly #cached: Cached = existsSync(cache)
    ? (JSON.parse(readFileSync(cache, 'utf8')) as Cached)
    : { hashes: {}, tests: {} }

  /** Keeps what the setup file of a measuring run wrote into a folder. */
  static keep(folder: string): void {
    const tests = globSync(join(folder, '*.json')).map(file => {
      const test = decodeURIComponent(basename(file, '.json'))
      return [test, JSON.parse(readFileSync(file, 'utf8')) as Execution] as const
    })
    const files = [...tests.map(([test]) => test), ...globSync('src/**/*.ts')]
    const hashes = Object.fromEntries(files.map(file => [file, hashOf(file)]))
    mkdirSync('.cache/mutants', { recursive: true })
    writeFileSync(cache, JSON.stringify({ hashes, tests: Object.fromEntries(tests) } satisfies Cached))
  }

  millisecondsOf(test: string): number | undefined {
    return this.#cached.tests[test]?.milliseconds
  }

  /** Whether a test executes a place of a file that it imports. If that is not known, every unit test does, and no other. */
  has(test: string, file: string, place: Interval): boolean {
    const execution = this.#cached.tests[test]
    if (!execution || !this.#isSame(test) || !this.#isSame(file)) return !isEndToEnd(test)
    return touches(execution.ran[file], place)
  }

  #isSame(file: string): boolean {
    return this.#cached.hashes[file] === hashOf(file)
  }
}

const touches = (intervals: readonly Interval[] | undefined, [start, end]: Interval): boolean =>
  intervals?.some(interval => interval[0] < end && start < interval[1]) ?? false

const hashOf = (file: string) => hash('sha256', readFileSync(file))
