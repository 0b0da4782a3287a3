import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandsOf } from '../support/example-programs.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** A block of code with what stands in the line before it. */
const fence = /^<!-- not checked: ([^\n]+) -->\n```(\w+)\n(.*?)^```$/gms

const blocks = ['producers.md', 'analytics.md', 'embedding.md'].flatMap(document =>
  [...read(`docs/${document}`).matchAll(fence)].map(([, why = '', language = '', code = '']) => ({
    document,
    why,
    language,
    code,
  })),
)
const parts = blocks.flatMap(block => {
  const [, file] = /^it is a part of (\S+), which a test runs$/.exec(block.why) ?? []
  return file === undefined ? [] : { ...block, file }
})

test.each(parts)('$document shows a part of $file as it stands there', ({ file, code }) => {
  expect(read(file)).toContain(code)
})

test.each(['producers.md', 'analytics.md', 'embedding.md'])('%s shows parts of examples', document => {
  expect(parts.filter(part => part.document === document).length).toBeGreaterThan(2)
})

test('what is to be typed for the example of SQL is what its README says', () => {
  const [typed] = blocks.filter(({ language }) => language === 'sh')
  expect(typed!.code.trim().split('\n').slice(1)).toEqual(commandsOf('analytics'))
})
