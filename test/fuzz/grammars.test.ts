import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, test, vi } from 'vitest'
import { answerProperties } from './grammars/answers.ts'
import { callbackProperties } from './grammars/callbacks.ts'
import { settingsFileProperty, settingsProperties } from './grammars/settings.ts'

const folder = mkdtempSync(join(tmpdir(), 'busgate-fuzz-'))
afterAll(() => rmSync(folder, { recursive: true }))

vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

function written(text: string): string {
  const file = join(folder, 'busgate.yaml')
  writeFileSync(file, text)
  return file
}

const { entries } = Object
const properties = [
  ...entries(settingsProperties),
  ['a file of settings loads, or is refused without their values', settingsFileProperty(written)] as const,
  ...entries(callbackProperties),
  ...entries(answerProperties),
] as [string, fc.IRawProperty<unknown>][]

test.each(properties)('%s', async (_, property) => {
  await fc.assert(property, { numRuns: 60 })
})
