import { defineConfig } from 'vitest/config'

/** Whole workers and command lines, on the embedded bus. */
const endToEnd = ['worker', 'cli', 'ui', 'package'].map(room => `test/${room}/**/*.test.ts`)

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          testTimeout: 30_000,
          include: ['test/**/*.test.ts'],
          exclude: [...endToEnd, 'test/integration/**', 'test/simulation/**'],
        },
      },
      { test: { name: 'end-to-end', include: endToEnd, testTimeout: 30_000 } },
      { test: { name: 'simulation', include: ['test/simulation/**/*.test.ts'], testTimeout: 300_000 } },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/brokers.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
