import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deadLetterCodes } from '../../src/telemetry/labels.ts'

const root = join(import.meta.dirname, '../..')

/** Names that are not headers: topics, a file, span attributes, a prefix. */
const others =
  /^busgate\.(commands.*|results|statuses|doubts|overdue|control|history|workers|dead-letters|yaml|account|operations|outcome|error\.)$/

const written = globSync('src/**/*.ts', { cwd: root }).flatMap(file =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/'(busgate\.[a-z.-]+)'/g)].map(([, name]) => name!),
)
const headers = [...new Set(written)].filter(name => !others.test(name))

const page = readFileSync(join(root, 'docs/headers.md'), 'utf8')
const firstCells = [...page.matchAll(/^\| (`.*?`) \|/gm)].map(([, cell]) => cell!)
const explained = firstCells.flatMap(cell => [...cell.matchAll(/`(busgate\.[^`]+)`/g)].map(([, name]) => name!))

test('docs/headers.md explains every header that busgate writes, and no other', () => {
  expect(headers.length).toBeGreaterThan(10)
  expect(explained.sort()).toEqual(headers.sort())
})

test('the runbook of dead letters explains every error code, and no other', () => {
  const runbook = readFileSync(join(root, 'docs/runbooks/BusgateDeadLetters.md'), 'utf8')
  const cells = [...runbook.matchAll(/^\| ([A-Z_, ]+) \|/gm)].map(([, cell]) => cell!)
  expect(cells.flatMap(cell => cell.split(', ')).sort()).toEqual(Object.values(deadLetterCodes).flat().sort())
})
