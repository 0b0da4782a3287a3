#!/usr/bin/env -S node --no-parallel-scavenge --max-semi-space-size=8
import { existsSync } from 'node:fs'
import process from 'node:process'

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
