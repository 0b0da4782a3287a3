#!/usr/bin/env node
// static imports load before the first line runs, and fail in an older Node
const complaint = await import('../supported-node.ts').then(
  () => null,
  (error: Error) => error.message,
)
if (complaint === null) await import('./main.ts')
else {
  console.error(complaint)
  process.exitCode = 1
}
