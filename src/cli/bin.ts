#!/usr/bin/env node
import { nodeComplaint } from '../node-version.ts'

if (nodeComplaint !== null) {
  console.error(nodeComplaint)
  process.exitCode = 1
} else {
  // Not a static import: those are loaded before the first line is run, and an older Node fails at them.
  await import('./main.ts')
}
