import { defineConfig } from 'vitest/config'

/** The tests to run, in this order. */
const include = JSON.parse(process.env.MUTANT_TESTS ?? '[]') as string[]

/** Runs tests one after the other in one process, until the first that fails. */
export default defineConfig({
  cacheDir: '.vite',
  test: {
    include,
    bail: 1,
    maxWorkers: 1,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
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
