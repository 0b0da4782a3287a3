import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { differences } from '../analytics/answers.ts'
import { answersOf, engines, lacking } from '../analytics/engines.ts'
import { writeDataset } from '../analytics/topics.ts'
import { describeOnKafka } from '../support/integration.ts'

const fetchPackages = join(import.meta.dirname, '../../.ci/examples-fetch')

describeOnKafka('delivery figures in SQL', brokers => {
  const name = `test-${randomUUID()}`
  const topics = { results: `${name}.results`, statuses: `${name}.statuses` }

  beforeAll(() => writeDataset(brokers, topics))

  test.for(['postgresql', 'duckdb'])(
    '%s gives the expected table and report, however often the topics are copied',
    { timeout: 240_000 }, // the first download takes a minute
    async (of, { skip }) => {
      const engine = engines[of]!
      const missing = lacking(engine)
      if (missing.length > 0) {
        const reason = `NOT CHECKED: ${of}. This machine has no ${missing.join(', ')}: install it to check ${of}.`
        console.warn(reason)
        skip(reason)
      }
      const { stdout: packages } = await promisify(execFile)(fetchPackages, ['analytics'])
      expect(differences(await answersOf(engine, brokers, topics, packages.trim()))).toEqual([])
    },
  )
})
