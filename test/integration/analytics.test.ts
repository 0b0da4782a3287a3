import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { differences } from '../analytics/answers.ts'
import { answersOf, engines, lacking } from '../analytics/engines.ts'
import { startPostgres } from '../analytics/postgres.ts'
import { committed, writeDataset } from '../analytics/topics.ts'
import { analyticsFolder } from '../support/example-programs.ts'
import { describeOnKafka } from '../support/integration.ts'

const run = promisify(execFile)
const fetchPackages = async () => {
  const { stdout } = await run(join(import.meta.dirname, '../../.ci/examples-fetch'), ['analytics'])
  return stdout.trim()
}

describeOnKafka('delivery figures in SQL', brokers => {
  const name = `test-${randomUUID()}`
  const topics = { results: `${name}.results`, statuses: `${name}.statuses` }

  const variables = {
    ...process.env,
    KAFKA_BROKERS: brokers.brokers.join(),
    REGISTRY_URL: brokers.registryUrl,
    RESULTS_TOPIC: topics.results,
    STATUSES_TOPIC: topics.statuses,
  }

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

  test.for(['postgresql', 'duckdb'])(
    'load.py copies a nested field into %s as JSON text, once it has a column',
    { timeout: 240_000 },
    async (of, { skip }) => {
      if (lacking(engines[of]!).length > 0) skip(`NOT CHECKED: this machine has no ${lacking(engines[of]!).join(', ')}`)
      const folder = await mkdtemp(join(tmpdir(), 'busgate-nested-'))
      onTestFinished(() => rm(folder, { recursive: true }))
      await cp(join(analyticsFolder, 'postgresql-duckdb'), folder, { recursive: true })
      const tables = await readFile(join(folder, 'tables.sql'), 'utf8')
      await writeFile(join(folder, 'tables.sql'), tables.replace('parts INTEGER', '$&, hlr TEXT'))
      const server = of === 'postgresql' ? await startPostgres() : null
      onTestFinished(() => server?.stop())
      const packages = await fetchPackages()
      const env = { ...variables, PYTHONPATH: packages }
      const database = server?.address ?? join(folder, 'nested.duckdb')
      await run('python3', [join(folder, 'load.py'), database], { env })
      const query = 'SELECT hlr FROM results WHERE id = 53'
      const { stdout } = server
        ? await run('psql', ['--tuples-only', '--no-align', '--command', query, database])
        : await run(join(packages, 'bin/duckdb'), ['-noheader', '-list', database, query], { env })
      expect(JSON.parse(stdout)).toMatchObject({
        mccmnc: 26201,
        network: { origin: { name: 'Telekom' }, ported: null },
      })
    },
  )

  test('load.py refuses a missing topic and another topic, and copies no deleted row again', {
    timeout: 240_000,
  }, async ({ skip }) => {
    if (lacking(engines.duckdb!).length > 0) skip('NOT CHECKED: this machine has no python3')
    const folder = await mkdtemp(join(tmpdir(), 'busgate-load-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'messages.duckdb')
    const python = async (results: string, ...args: string[]) => {
      const env = { ...variables, RESULTS_TOPIC: results, PYTHONPATH: await fetchPackages() }
      return (await run('python3', args, { env })).stdout
    }
    const program = join(analyticsFolder, 'postgresql-duckdb/load.py')

    await expect(python(`${name}.none`, program, file)).rejects.toThrow(`Nothing was copied: topic ${name}.none of`)
    const copied = await python(topics.results, program, file)
    expect(copied).toContain(`${topics.results}: ${committed.results} records copied into results`)

    await python(topics.results, '-c', `import duckdb; duckdb.connect('${file}').execute('DELETE FROM results')`)
    expect(await python(topics.results, program, file)).toContain(`${topics.results}: 0 records copied into results`)

    const refused = `use another database, because this one holds ${topics.results}, not ${topics.statuses}`
    await expect(python(topics.statuses, program, file)).rejects.toThrow(refused)
  })
})
