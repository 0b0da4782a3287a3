#!/usr/bin/env node
// A static import would be loaded before the first line is run, and an older Node fails at it.
const complaint = await import('../supported-node.ts').then(
  () => null,
  (error: Error) => error.message,
)
if (complaint === null) await import('./main.ts')
else {
  console.error(complaint)
  process.exitCode = 1
}
