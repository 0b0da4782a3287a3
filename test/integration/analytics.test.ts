import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { differences } from '../analytics/answers.ts'
import { answersOf, engines, lacking } from '../analytics/engines.ts'
import { committed, writeDataset } from '../analytics/topics.ts'
import { exampleFolder } from '../support/example-programs.ts'
import { describeOnKafka } from '../support/integration.ts'

const run = promisify(execFile)
const fetchPackages = async () => {
  const { stdout } = await run(join(import.meta.dirname, '../../.ci/examples-fetch'), ['analytics'])
  return stdout.trim()
}

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
      expect(differences(await answersOf(engine, brokers, topics, await fetchPackages()))).toEqual([])
    },
  )

  test('load.py refuses a missing topic and another topic, and copies no deleted row again', {
    timeout: 240_000,
  }, async ({ skip }) => {
    if (lacking(engines.duckdb!).length > 0) skip('NOT CHECKED: this machine has no python3')
    const folder = await mkdtemp(join(tmpdir(), 'busgate-load-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'messages.duckdb')
    const env = { ...process.env, KAFKA_BROKERS: brokers.brokers.join(), REGISTRY_URL: brokers.registryUrl }
    const python = async (results: string, ...args: string[]) => {
      const own = { RESULTS_TOPIC: results, STATUSES_TOPIC: topics.statuses, PYTHONPATH: await fetchPackages() }
      return (await run('python3', args, { env: { ...env, ...own } })).stdout
    }
    const program = join(exampleFolder('analytics'), 'postgresql-duckdb/load.py')

    await expect(python(`${name}.none`, program, file)).rejects.toThrow(`Nothing was copied: topic ${name}.none of`)
    const copied = await python(topics.results, program, file)
    expect(copied).toContain(`${topics.results}: ${committed.results} records copied into results`)

    await python(topics.results, '-c', `import duckdb; duckdb.connect('${file}').execute('DELETE FROM results')`)
    expect(await python(topics.results, program, file)).toContain(`${topics.results}: 0 records copied into results`)

    const refused = `use another database, because this one holds ${topics.results}, not ${topics.statuses}`
    await expect(python(topics.statuses, program, file)).rejects.toThrow(refused)
  })
})
