import { execFile, spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { analyticsFolder } from '../support/example-programs.ts'
import type { Brokers } from '../support/integration.ts'
import { type Answers, blocksOf, tableOf } from './answers.ts'
import { messagesByFlink } from './messages-topic.ts'
import { startPostgres } from './postgres.ts'
import { type AnalyticsTopics, committed } from './topics.ts'

/** A fresh copy of analytics, and the environment variables of its programs. */
interface Workplace {
  folder: string
  brokers: Brokers
  env: Record<string, string>
  /** Whether the Python packages are installed already. */
  prepared: boolean
}

export interface Engine {
  /** Programs that must be installed. */
  needs: readonly string[]
  answer(work: Workplace): Promise<Answers>
}

const postgres = ['psql', 'initdb', 'pg_ctl']

/** Each engine follows the README of its folder, beginning with an empty virtual environment. */
export const engines: Record<string, Engine> = {
  postgresql: { needs: ['python3', ...postgres], answer: withPostgres },
  duckdb: { needs: ['python3'], answer: withDuckDb },
  clickhouse: { needs: ['python3'], answer: withClickHouse },
  spark: { needs: ['python3', 'java'], answer: withSpark },
  flink: { needs: ['java', 'mvn', ...postgres], answer: ({ folder, brokers }) => messagesByFlink(folder, brokers) },
}

/** The programs that an engine needs and this machine lacks. */
export const lacking = ({ needs }: Engine) => needs.filter(name => spawnSync('which', [name]).status !== 0)

/**
 * Runs the example of an engine on these topics.
 * @param packages folder with the packages that its README installs. Default: installs them
 */
export async function answersOf(
  engine: Engine,
  brokers: Brokers,
  topics: AnalyticsTopics,
  packages?: string,
): Promise<Answers> {
  const scratch = await mkdtemp(join(tmpdir(), 'busgate-analytics-'))
  const folder = join(scratch, 'analytics')
  const env = {
    KAFKA_BROKERS: brokers.brokers.join(','),
    REGISTRY_URL: brokers.registryUrl,
    RESULTS_TOPIC: topics.results,
    STATUSES_TOPIC: topics.statuses,
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    PYTHONWARNINGS: 'ignore',
    PATH: `${packages ?? join(folder, '.venv')}/bin:${process.env.PATH}`,
    ...(packages !== undefined && { PYTHONPATH: packages }),
  }
  await cp(analyticsFolder, folder, { recursive: true, filter: path => !path.endsWith('.venv') })
  try {
    return await engine.answer({ folder, brokers, env, prepared: packages !== undefined })
  } finally {
    await rm(scratch, { recursive: true })
  }
}

const pythonFolder = 'postgresql-duckdb'

async function withPostgres(work: Workplace): Promise<Answers> {
  const server = await startPostgres()
  try {
    const env = { ...work.env, DATABASE: server.address }
    const [prepare, ask] = await blocksOfReadme(work, pythonFolder)
    // The second load must find nothing new.
    if (!work.prepared) await sh(work, prepare!)
    await sh({ ...work, env }, `${ask}\n${ask}`)
    const query = (args: string) => sh({ ...work, env }, `psql --csv --quiet ${args} "$DATABASE"`)
    return {
      messages: tableOf(await query("--command 'SELECT * FROM messages'")),
      report: blocksOf(await query(`--file ${pythonFolder}/report-daily.sql`)),
    }
  } finally {
    await server.stop()
  }
}

async function withDuckDb(work: Workplace): Promise<Answers> {
  const [prepare, , ask] = await blocksOfReadme(work, pythonFolder)
  if (!work.prepared) await sh(work, prepare!)
  await sh(work, `${ask}\n${ask}`)
  const query = (args: string) => sh(work, `duckdb -csv messages.duckdb ${args}`)
  return { messages: tableOf(await query("'SELECT * FROM messages'")), report: blocksOf(await query('< report.sql')) }
}

async function withClickHouse(work: Workplace): Promise<Answers> {
  const program = join(import.meta.dirname, 'clickhouse.py')
  await sh(work, 'python3 -m venv .venv && .venv/bin/pip install --quiet chdb==4.0.2')
  const printed = await sh(work, `python ${program} . ${committed.results} ${committed.statuses}`)
  const [messages = '', report = ''] = printed.split(/\n\n(.*)/s)
  return { messages: tableOf(messages), report: blocksOf(report) }
}

async function withSpark(work: Workplace): Promise<Answers> {
  const [run] = await blocksOfReadme(work, 'spark')
  const shown = await sh(work, run!)
  const report = shown
    .split('\n')
    .filter(line => line.startsWith('|'))
    .map(line =>
      line
        .slice(1, -1)
        .split('|')
        .map(cell => `"${cell.trim()}"`)
        .join(','),
    )
  const print = `from pyspark.sql import SparkSession; spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
spark.read.parquet("spark-warehouse/messages").coalesce(1).write.csv("messages.csv", header=True, nullValue="\\\\N", timestampFormat="HH:mm:ss.SSS")`
  await sh(work, `python - <<'EOF'\n${print}\nEOF`)
  return { messages: tableOf(await sh(work, 'cat messages.csv/part-*.csv')), report: blocksOf(report.join('\n')) }
}

/** The shell blocks in the README of a folder. */
async function blocksOfReadme({ folder }: Workplace, name: string): Promise<string[]> {
  const text = await readFile(join(folder, name, 'README.md'), 'utf8')
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block.trim())
}

/** Runs shell commands in the copy of the folder. @throws Error with their standard error */
async function sh({ folder, env }: Workplace, lines: string): Promise<string> {
  const options = { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 }
  return (await promisify(execFile)('sh', ['-ec', lines], options)).stdout
}
