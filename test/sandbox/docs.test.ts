import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faults } from '../../src/sandbox/faults.ts'
import { endings } from '../../src/sandbox/index.ts'

const doc = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')

/** The rows of the table below a heading; cells without blanks and backticks. */
function tableUnder(heading: string): string[][] {
  const section = doc.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return section
    .split('\n')
    .filter(line => line.startsWith('|'))
    .slice(2)
    .map(line =>
      line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.trim().replace(/^`(.*)`$/, '$1')),
    )
}

test('docs/sandbox.md lists the phone endings with their meanings', () => {
  const rows = Object.entries(endings).map(([ending, { meaning }]) => [ending, meaning])
  expect(tableUnder('Outcomes by phone number').slice(1)).toEqual(rows)
})

test('docs/sandbox.md lists the faults with their meanings', () => {
  const rows = Object.entries(faults).map(([name, { meaning, executes }]) => [name, executes ? 'yes' : 'no', meaning])
  expect(tableUnder('Faults')).toEqual(rows)
})
