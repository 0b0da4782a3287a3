import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

/** What callers fill in: the name of its type, and the rows of its tables. */
const inputs = globSync('docs/api/**/*.md', { cwd: root }).flatMap(file =>
  readFileSync(join(root, file), 'utf8')
    .split(/^### /m)
    .filter(section => section.includes('| ------ '))
    .filter(section => /^(?:\w*(?:Options|Sources|Limit|Trouble)|New(?:CommandOf|Withdrawal))\b/.test(section))
    .map(section => ({ name: /^\w+/.exec(section)![0], rows: rowsOf(section) })),
)

function rowsOf(section: string): { name: string; text: string }[] {
  const fields = section.slice(section.lastIndexOf('\n#### '))
  const rows = fields.split('\n').filter(line => /^\| .*`/.test(line))
  return rows.map(row => {
    const [, name = ''] = /`([\w.]+\??)`/.exec(row.replace(/<a [^>]*><\/a>/, '')) ?? []
    return { name, text: row.split(/(?<!\\) \| /)[2] ?? '' }
  })
}

describe('the API reference', () => {
  test('shows what callers fill in', () => {
    expect(inputs.length).toBeGreaterThan(10)
    for (const { name, rows } of inputs) expect(rows.length, name).toBeGreaterThan(0)
  })

  test.each(inputs)('says of every field of $name what it is, and its default if it has one', ({ rows }) => {
    const silent = rows.filter(({ name, text }) =>
      name.endsWith('?') ? !/default/i.test(text) : /^-?\s*\|?$/.test(text),
    )
    expect(silent.map(({ name }) => name)).toEqual([])
  })
})
