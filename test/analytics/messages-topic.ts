import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { analyticsFolder } from '../support/example-programs.ts'
import type { Brokers } from '../support/integration.ts'
import { createTopics } from '../support/kafka.ts'
import { type Answers, blocksOf, differences, expected, type Row, tableOf } from './answers.ts'
import { startConnect } from './connect.ts'
import { startFlink } from './flink.ts'
import { eventually } from './jars.ts'
import { startPostgres } from './postgres.ts'
import { committed, writeDataset } from './topics.ts'

const sources = { results: 'flink.results', statuses: 'flink.statuses' }
const target = 'flink.messages'
const connectors = ['messages', 'results', 'statuses'].map(name => `${name}.properties`)
const log = (line: string) => console.log(line)

/**
 * Has Flink write the topic busgate.messages, and Kafka Connect copy it to PostgreSQL, where a tombstone deletes a row.
 * @param folder a copy of analytics
 * @returns the answers of PostgreSQL
 */
export async function messagesByFlink(folder: string, brokers: Brokers): Promise<Answers> {
  await createTopics(brokers.brokers, [{ topic: target, partitions: 3, config: { 'cleanup.policy': 'compact' } }])
  await writeDataset(brokers, sources)
  const job = join(folder, 'job.sql')
  await writeFile(job, at(brokers, await readFile(join(folder, 'flink/job.sql'), 'utf8')))
  const flink = await startFlink(folder, log)
  try {
    await flink.run(job)
    await untilTopicIsAsExpected(brokers)
  } finally {
    await flink.stop()
  }
  const { tombstones } = await readMessages(brokers)
  if (tombstones > 0) throw new Error(`${tombstones} unexpected tombstones on ${target}`)
  return throughConnect(folder, brokers)
}

/** Copies the topics to PostgreSQL. */
async function throughConnect(folder: string, brokers: Brokers): Promise<Answers> {
  const postgres = await startPostgres()
  const query = async (...args: string[]) =>
    (await promisify(execFile)('psql', ['--csv', '-q', ...args, postgres.address])).stdout
  const table = async (): Promise<Answers> => ({
    messages: tableOf(await query('-c', 'SELECT * FROM messages')),
    report: blocksOf(await query('-f', join(folder, 'report.sql'))),
  })
  try {
    await query('-f', join(folder, 'connect/tables.sql'))
    const address = new URL(postgres.address)
    for (const file of connectors) {
      const text = at(brokers, await readFile(join(folder, 'connect', file), 'utf8'))
      await writeFile(join(folder, file), text.replace('localhost:5432', address.host))
    }
    const worker = at(brokers, await readFile(join(folder, 'connect/worker.properties'), 'utf8'))
    const connect = await startConnect(folder, worker, connectors, log)
    const counts = 'SELECT (SELECT count(*) FROM results) AS results, (SELECT count(*) FROM statuses) AS statuses'
    try {
      await eventually('the copies in PostgreSQL', async () => {
        const [failure] = await connect.failures()
        if (failure) throw new Error(failure)
        const [copied] = tableOf(await query('-c', counts))
        return (
          copied!.results === String(committed.results) &&
          copied!.statuses === String(committed.statuses) &&
          differences(await table()).length === 0
        )
      })
      const answers = await table()
      const id = '9007199254740993'
      await erase(brokers, 'default', id)
      await eventually('the tombstone in PostgreSQL', async () => {
        const left = tableOf(await query('-c', `SELECT account FROM messages WHERE id = ${id}`))
        return left.length === 1 && left[0]!.account === 'second'
      })
      return answers
    } finally {
      await connect.stop()
    }
  } finally {
    await postgres.stop()
  }
}

/** Writes a tombstone with the program of the example. */
async function erase({ brokers, registryUrl }: Brokers, account: string, id: string): Promise<void> {
  const env = { ...process.env, KAFKA_BROKERS: brokers.join(), REGISTRY_URL: registryUrl, MESSAGES_TOPIC: target }
  const program = join(analyticsFolder, 'flink/erase.js')
  await promisify(execFile)(process.execPath, ['--no-warnings', program, account, id], { env })
}

/** The text of an example with the addresses and the topics of this run. */
function at({ brokers, registryUrl }: Brokers, text: string): string {
  const { origin } = new URL(registryUrl)
  return text
    .replaceAll('localhost:9092', brokers.join(','))
    .replaceAll('http://localhost:8081/apis', `${origin}/apis`)
    .replaceAll('http://localhost:8081', registryUrl)
    .replaceAll(/busgate\.(results|statuses|messages)\b/g, 'flink.$1')
}

async function untilTopicIsAsExpected(brokers: Brokers): Promise<void> {
  let found: string[] = []
  await eventually(
    'the expected messages',
    async () => {
      found = differences({ messages: (await readMessages(brokers)).rows, report: expected.report })
      return found.length === 0
    },
    () => found.join('\n'),
  )
}

interface MessagesTopic {
  /** The last record of each key. */
  rows: Row[]
  tombstones: number
}

/** Reads the whole topic with the example's reader. */
async function readMessages({ brokers, registryUrl }: Brokers): Promise<MessagesTopic> {
  const env = { ...process.env, KAFKA_BROKERS: brokers.join(), REGISTRY_URL: registryUrl, MESSAGES_TOPIC: target }
  const reader = join(analyticsFolder, 'flink/read.js')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--no-warnings', reader], { env })
  const rows = stdout
    .trim()
    .split('\n')
    .filter(Boolean)
    .map(line => rowOf(JSON.parse(line)))
  return { rows, ...JSON.parse(stderr.trim().split('\n').at(-1)!) }
}

function rowOf(message: Record<string, unknown>): Row {
  return Object.fromEntries(
    Object.entries(message).map(([name, value]) => {
      const column = name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
      if (value === null) return [column, '']
      return [column, name.endsWith('At') ? new Date(Number(value)).toISOString().slice(11, 23) : String(value)]
    }),
  )
}
