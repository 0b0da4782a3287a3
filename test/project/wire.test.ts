import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

/** Modules that a file names in its imports, and in whatever else loads one. */
function modulesOf(source: string): string[] {
  return [...source.matchAll(/(?:\bfrom|\bimport|\brequire|\bresolve)\s*\(?\s*['"`]([^'"`]+)['"`]/g)].map(
    ([, name]) => name!,
  )
}

const sources = (pattern: string) => globSync(pattern).map(file => ({ file, source: readFileSync(file, 'utf8') }))

describe('the wire to Kafka', () => {
  const files = sources('src/bus/wire/**/*.ts')

  test('consists of files', () => {
    expect(files.length).toBeGreaterThan(5)
  })

  test.each(files)(
    '$file imports nothing but what @platformatic/kafka exports, Node and files of busgate',
    ({ source }) => {
      const others = modulesOf(source).filter(name => !name.startsWith('node:') && !name.startsWith('.'))
      expect(others.filter(name => name !== '@platformatic/kafka')).toEqual([])
      expect(source).not.toMatch(/node_modules|createRequire|\.prototype\b/)
    },
  )
})

test('nothing of busgate reaches behind what kafkajs exports', () => {
  const users = sources('src/**/*.ts').filter(({ source }) => modulesOf(source).some(name => /^kafkajs\/./.test(name)))
  expect(users).toEqual([])
})

test('nothing of busgate reaches behind what @platformatic/kafka exports', () => {
  const users = sources('src/**/*.ts').filter(({ source }) =>
    modulesOf(source).some(name => /^@platformatic\/(kafka\/|(?!kafka$))/.test(name)),
  )
  expect(users).toEqual([])
})
