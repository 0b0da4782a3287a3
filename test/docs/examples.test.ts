import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
/** Begins the blocks of languages that nothing here can run; each says so. */
const notRun = /^-- .*\(not run by a test\)/

const programs = readdirSync(join(root, 'examples'), { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile() && /\.(py|java|go|js|ts|sql)$/.test(entry.name))
  .filter(({ parentPath }) => !/node_modules|target/.test(parentPath))
  .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))

/** The blocks of code in a document, without what is typed into a shell. */
function blocksOf(document: string): string[] {
  const text = readFileSync(join(root, 'docs', document), 'utf8')
  return [...text.matchAll(/^```(python|java|go|js|ts|sql)\n(.*?)^```$/gms)].map(([, , code = '']) => code)
}

const documents = ['producers.md', 'analytics.md', 'embedding.md']

test.each(documents)('what %s shows stands in an example, which a test runs', document => {
  const shown = blocksOf(document).filter(code => !notRun.test(code))
  expect(shown.length).toBeGreaterThan(2)
  expect(shown.filter(code => !programs.some(program => program.includes(code)))).toEqual([])
})
