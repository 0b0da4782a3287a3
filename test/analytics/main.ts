/**
 * Runs the examples of analytics against a broker with the dataset, and compares every engine's answers with the
 * expected table.
 *   npm run analytics                      all engines; fails if one cannot run on this machine
 *   npm run analytics -- duckdb spark      these engines
 */
import '../../src/cli/framework/kafkajs-warning.ts'
import { startKafka } from '../support/local-kafka/kafka.ts'
import { startRegistry } from '../support/local-kafka/registry.ts'
import { differences } from './answers.ts'
import { answersOf, engines, lacking } from './engines.ts'
import { writeDataset } from './topics.ts'

const topics = { results: 'busgate.results', statuses: 'busgate.statuses' }
const wanted = process.argv.slice(2)
const unknown = wanted.filter(name => !Object.hasOwn(engines, name))
if (unknown.length > 0) {
  console.error(`there is no engine ${unknown.join(', ')}, only ${Object.keys(engines).join(', ')}`)
  process.exit(1)
}

const log = (line: string) => console.log(line)
const [kafka, registry] = await Promise.all([startKafka({ log }), startRegistry({ log })])
const brokers = { brokers: kafka.brokers, registryUrl: registry.url }
await writeDataset(brokers, topics)

const failed: string[] = []
for (const name of wanted.length > 0 ? wanted : Object.keys(engines)) {
  const outcome = await check(name)
  console.log(`${name}: ${outcome}`)
  if (outcome !== 'as expected') failed.push(name)
}
await Promise.all([kafka.stop(), registry.stop()])
process.exitCode = failed.length > 0 ? 1 : 0

async function check(name: string): Promise<string> {
  const engine = engines[name]!
  const missing = lacking(engine)
  if (missing.length > 0) return `NOT CHECKED: this machine has no ${missing.join(', ')}`
  try {
    const found = differences(await answersOf(engine, brokers, topics))
    return found.length > 0 ? `DIFFERS\n${found.join('\n')}` : 'as expected'
  } catch (error) {
    return `FAILED: ${(error as Error).message}`
  }
}
