import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadSettings, topicsIn, topicUses, topology } from '../../src/config/index.ts'

const page = readFileSync(new URL('../../docs/kafka.md', import.meta.url), 'utf8')
const section = (title: string) => page.split(`## ${title}\n`)[1]!.split('\n## ')[0]!
const rows = (title: string) =>
  [...section(title).matchAll(/^\| (?!-|topic )(.*) \|$/gm)].map(([, row]) => row!.split('|').map(cell => cell.trim()))

const names = { deadLetters: 'dead letters' } as Record<string, string>
const roles = ['worker', 'callbacks', 'reconciler'] as const

test('docs/kafka.md names the rights of each role that busgate doctor checks', () => {
  const wanted = topicUses.map(use => [
    names[use] ?? use,
    ...roles.map(role => (topology[use].rights[role] ?? []).join(', ')),
  ])
  expect(rows('Rights').toSorted()).toEqual(wanted.toSorted())
})

test('docs/kafka.md names every topic', () => {
  const named = [...section('Topics').matchAll(/`(busgate\.[a-z.-]+)`/g)].map(([, name]) => name)
  expect([...new Set(named)].toSorted()).toEqual(
    topicsIn(loadSettings({ env: {} }).topics)
      .map(({ topic }) => topic)
      .toSorted(),
  )
})
