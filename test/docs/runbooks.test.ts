import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findCommand } from '../../src/cli/find-command.ts'
import { parseFlags } from '../../src/cli/parse.ts'

const folder = join(import.meta.dirname, '../../docs/runbooks')
const placeholders: [RegExp, string][] = [
  [/\bPARTITION@OFFSET\b/, '0@1'],
  [/\bN\b/, '1001'],
]

/** Every command line of busgate that a runbook names. */
const written = readdirSync(folder).flatMap(file => {
  const text = readFileSync(join(folder, file), 'utf8').replaceAll(/\s+/g, ' ')
  return [...text.matchAll(/`busgate ([^`]+)`/g)].map(([, line = '']) => ({ file, line }))
})

test.each(written)('$file: busgate $line can be run as it stands, and ends by itself', async ({ line }) => {
  const filled = placeholders.reduce((text, [name, value]) => text.replace(name, value), line)
  const { name, load, rest } = findCommand(filled.split(' '))
  const { values } = parseFlags(name, (await load()).flags, rest)
  if (name.startsWith('tail ')) expect(values).toHaveProperty('until-end', true)
})

test('the runbooks name commands', () => {
  expect(written.length).toBeGreaterThan(15)
})
