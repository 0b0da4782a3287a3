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
const hookTimeout = 120_000
/** Ends a wait for something that does not happen. */
const expectations = { poll: { timeout: 60_000 } }
const setupFiles = ['test/support/properties.ts']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          maxWorkers,
          isolate,
          testTimeout,
          hookTimeout,
          expect: expectations,
          setupFiles,
          include: ['test/**/*.test.ts'],
          exclude: [...endToEnd, 'test/integration/**'],
        },
      },
      {
        test: {
          name: 'end-to-end',
          maxWorkers,
          isolate,
          include: endToEnd,
          setupFiles,
          testTimeout,
          hookTimeout,
          expect: expectations,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/brokers.ts'],
          testTimeout,
          hookTimeout,
          expect: expectations,
          // A file mostly waits, for its broker and for time-outs.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
