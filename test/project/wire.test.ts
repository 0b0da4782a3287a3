import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Modules that a file names in its imports, and in whatever else loads one. */
function modulesOf(source: string): string[] {
  return [...source.matchAll(/(?:\bfrom|\bimport|\brequire|\bresolve)\s*\(?\s*['"`]([^'"`]+)['"`]/g)].map(
    ([, name]) => name!,
  )
}

const sources = (pattern: string) => globSync(pattern).map(file => ({ file, source: readFileSync(file, 'utf8') }))

test('busgate imports only what kafkajs exports', () => {
  const users = sources('src/**/*.ts').filter(({ source }) => modulesOf(source).some(name => /^kafkajs\/./.test(name)))
  expect(users).toEqual([])
})

test('busgate imports only what @platformatic/kafka exports', () => {
  const users = sources('src/**/*.ts').filter(({ source }) => modulesOf(source).includes('@platformatic/kafka'))
  expect(users.length).toBeGreaterThan(5)
  for (const { source } of users) expect(source).not.toMatch(/node_modules|createRequire|\.prototype\b/)
  const behind = sources('src/**/*.ts').filter(({ source }) =>
    modulesOf(source).some(name => /^@platformatic\/(kafka\/|(?!kafka$))/.test(name)),
  )
  expect(behind).toEqual([])
})
