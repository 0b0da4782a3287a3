#!/usr/bin/env node
import { nodeComplaint } from '../node-version.ts'

if (nodeComplaint !== null) {
  console.error(nodeComplaint)
  process.exitCode = 1
} else {
  // A static import would be loaded before the first line is run, and an older Node fails at it.
  await import('./main.ts')
}
