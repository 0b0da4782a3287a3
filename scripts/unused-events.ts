/**
 * Names the events that nothing in src emits or logs, and fails if there are any. Knip cannot see them: npm run unused.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { logLines } from '../src/telemetry/log-lines.ts'

const root = join(import.meta.dirname, '..')
const source = globSync('src/**/*.ts', { cwd: root })
  .map(file => readFileSync(join(root, file), 'utf8'))
  .join('\n')
const emitted = new Set([...source.matchAll(/\b(?:emit\(|logEvent\(\w+,)\s*'([\w.]+)'/g)].map(([, name]) => name))
const unused = Object.keys(logLines).filter(name => !emitted.has(name))
if (unused.length > 0) {
  console.error(`nothing in src emits ${unused.join(', ')}: emit it, or remove it from src/telemetry/events.ts`)
  process.exitCode = 1
}
