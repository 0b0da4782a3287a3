#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=150 --no-parallel-scavenge
// A small young generation, and an old one that grows to 2.5 times what is alive, save a third of the memory. Several threads
// that collect new objects cost more CPU than they save.
import { existsSync } from 'node:fs'
import process from 'node:process'

process.report.excludeEnv = true // before anything else can fail: a report is readable by all, and variables may hold secrets

// A checkout runs its source, so that it needs no build and no build can be stale; the package holds only what was built.
const source = new URL('../src/cli/bin.ts', import.meta.url)

try {
  await import(existsSync(source) ? source.href : '../dist/cli/bin.js')
} catch (error) {
  if (error.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error
  const { node } = process.versions
  console.error(
    `busgate needs Node.js 22.19 or newer, and this is ${node}: install a newer one (on Linux: npm install node@24, then npx busgate or node_modules/.bin/node).`,
  )
  process.exitCode = 1
}
