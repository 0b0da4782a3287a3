import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { operationTypes } from '../../src/protocol/index.ts'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

const rows = readFileSync(path('docs/operations.md'), 'utf8')
  .split('\n')
  .filter(line => line.startsWith('| [`'))
  .map(line => line.split('|').map(cell => cell.trim()))

test.each(operationTypes)('%s has a row that says where it is tested', type => {
  const [row, ...more] = rows.filter(cells => cells[1]?.startsWith(`[\`${type}\`]`))
  expect(more).toEqual([])
  expect(row?.[6]).toMatch(/^[1-9]\d* accepted, \d+ refused$/)
})

test('there is no row of anything else', () => {
  expect(rows).toHaveLength(operationTypes.length)
})
