import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Vitest would leave one core idle, which is half of a machine with two. */
const maxWorkers = availableParallelism()

/** Files share a process, which loads the modules once for all of them: the unit tests take 115 s instead of 190. */
const isolate = false

/** Whole workers and command lines, on the embedded bus. */
const endToEnd = ['create-worker', 'cli', 'ui', 'package'].map(room => `test/${room}/**/*.test.ts`)

/** Ends a test that hangs: on two busy cores the longest take more than a minute. */
const testTimeout = 300_000

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          maxWorkers,
          isolate,
          testTimeout,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
          include: ['test/**/*.test.ts'],
          exclude: [...endToEnd, 'test/integration/**'],
        },
      },
      {
        test: { name: 'end-to-end', maxWorkers, isolate, include: endToEnd, testTimeout, hookTimeout: 60_000 },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/brokers.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          // A file mostly waits, for its broker and for time-outs.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
