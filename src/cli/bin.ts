#!/usr/bin/env node
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`busgate needs Node.js 22.19 or newer, and this is ${process.versions.node}: install a newer one.`)
  process.exitCode = 1
} else {
  // Not a static import: those are loaded before the first line is run, and an older Node fails at them.
  await import('./main.ts')
}
