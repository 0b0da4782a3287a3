import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { planTopics } from '../../src/cli/doctor/topics.ts'
import { loadSettings, topicUses, topology } from '../../src/config/index.ts'
import { schemas } from '../../src/records/schemas.ts'
import { span } from '../../src/words.ts'

const page = readFileSync(new URL('../../docs/personal-data.md', import.meta.url), 'utf8')

/** A row of the table: topics, record, personal fields, other fields, retention. */
type Row = [topics: string, record: string, personal: string, other: string, retention: string]

const section = page.slice(page.indexOf('## Topics'), page.indexOf('## On the way'))
const rows = [...section.matchAll(/^\| (`busgate\..*) \|$/gm)].map(([, cells]) => cells!.split(' | ') as Row)
const quoted = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
const rowOf = (topic: string) => rows.find(([topics]) => quoted(topics).includes(topic))!

const settings = loadSettings({ env: {} })
const planned = planTopics(settings, { existing: new Map(), nodes: 3 })

test('docs/personal-data.md names every topic that busgate uses, and its retention', () => {
  expect(rows.flatMap(([topics]) => quoted(topics)).sort()).toEqual(planned.map(({ topic }) => topic).sort())
  for (const { topic, config } of planned.filter(({ config }) => config['retention.ms'] !== undefined)) {
    const [, , , , kept] = rowOf(topic)
    const text = /^as the commands/.test(kept) ? rowOf('busgate.commands')[4] : kept
    expect(text.startsWith(span(Number(config['retention.ms']))), topic).toBe(true)
  }
})

const withSchemas = topicUses.flatMap(use => {
  const { schema } = topology[use]
  return schema === null ? [] : [[use, schemas[schema]] as const]
})

test.each(withSchemas)(
  'docs/personal-data.md classifies each field of %s once, as personal or not',
  (use, { fields }) => {
    const [, , personal, other] = rowOf([settings.topics[use]].flat()[0]!)
    const known = fields.map(({ name }) => name as string)
    expect([...quoted(personal), ...quoted(other)].sort()).toEqual([...known].sort())
  },
)

test('docs/personal-data.md names existing tests', () => {
  const files = quoted(page).filter(name => name.startsWith('test/'))
  expect(files.length).toBeGreaterThan(3)
  for (const file of files) expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')).toContain('test(')
})
