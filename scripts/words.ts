/**
 * Prints the number of words of each hand-written document, without code blocks, and their sum. Fails if the sum is too large:
 * npm run words.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const most = 24_500
const root = join(import.meta.dirname, '..')
/** The gateway operator's own text, and the changes, which grow with each release. */
const notCounted = ['docs/gateway-interface.md', 'CHANGELOG.md']
/** Generated documents say so in their first lines. */
const generated = /^<!-- Made by |writes this page/m

const counts = globSync(['*.md', 'docs/**/*.md', 'helm/*.md'], { cwd: root, exclude: ['docs/api'] })
  .filter(file => !notCounted.includes(file))
  .map(file => ({ file, text: readFileSync(join(root, file), 'utf8') }))
  .filter(({ text }) => !generated.test(text))
  .map(({ file, text }) => ({
    file,
    words: (text.replaceAll(/```.*?```/gs, '').match(/\S*[\p{L}\d]\S*/gu) ?? []).length,
  }))
  .sort((a, b) => b.words - a.words)

for (const { file, words } of counts) console.log(String(words).padStart(6), file)
const sum = counts.reduce((total, { words }) => total + words, 0)
console.log(String(sum).padStart(6), `in all; at most ${most}${sum > most ? ': shorten a document' : ''}`)
process.exitCode = sum > most ? 1 : 0
