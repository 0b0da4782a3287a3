import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** The tests to run, in this order. */
const include = JSON.parse(process.env.MUTANT_TESTS ?? '[]') as string[]
const timeout = Number(process.env.MUTANT_TIMEOUT ?? 60_000)
const measures = process.env.MUTANT_EXECUTIONS !== undefined

/**
 * Runs tests one after the other, until the first that fails. Node.js loads the files without Vite. They share a process, except
 * to measure: code that V8 has optimised for an earlier test would not be counted again.
 */
export default defineConfig({
  cacheDir: '.vite',
  test: {
    include,
    bail: measures ? 0 : 1,
    maxWorkers: measures ? availableParallelism() : 1,
    isolate: measures,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    setupFiles: ['test/support/properties.ts', ...(measures ? ['test/mutants/watch-executions.ts'] : [])],
    testTimeout: timeout,
    hookTimeout: timeout,
    expect: { poll: { timeout: timeout / 2 } },
    sequence: {
      sequencer: class {
        sort<T extends { moduleId: string }>(files: T[]): T[] {
          const place = ({ moduleId }: T) => include.findIndex(file => moduleId.endsWith(`/${file}`))
          return files.toSorted((a, b) => place(a) - place(b))
        }

        shard<T>(files: T[]): T[] {
          return files
        }
      },
    },
  },
})
