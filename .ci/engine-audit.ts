// Reads commands and results of docker-compose.yml as a user's service would, until each command has a final result and no
// record arrives any more. Fails if a command has no final result or two, if the gateway executed one twice, or if no command
// was ever in doubt. Usage: node .ci/engine-audit.ts, after the traffic has stopped.
import { Kafka, logLevel } from 'kafkajs'
import { loadSettings } from '../src/config/index.ts'
import { createDecoders } from '../src/consumer/index.ts'

const broker = '127.0.0.1:9092'
const registry = 'http://127.0.0.1:8081/apis/ccompat/v7'
const gateway = 'http://127.0.0.1:8090'
const withinMs = 180_000
const silentMs = 8_000
const settings = loadSettings({ env: {}, overrides: { registry: { url: registry } } })
const { commands, results } = settings.topics
const decoders = createDecoders(settings)
/** The number of final results of each command, by its coordinates. */
const finals = new Map<string, number>()
const outcomes: Record<string, number> = {}
let lastAt = performance.now()

const consumer = new Kafka({ brokers: [broker], logLevel: logLevel.ERROR }).consumer({
  groupId: `audit-${process.pid}`,
  maxWaitTimeInMs: 500,
})
await consumer.connect()
await consumer.subscribe({ topics: [...commands, results], fromBeginning: true })
await consumer.run({
  async eachMessage({ topic, partition, message: { offset, value } }) {
    lastAt = performance.now()
    if (topic !== results) return note(`${topic}/${partition}/${offset}`, 0)
    const { final, outcome, commandTopic, commandPartition, commandOffset } = await decoders.decodeResult(value)
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (final) note(`${commandTopic}/${commandPartition}/${commandOffset}`, 1)
  },
})
const withoutResult = () =>
  finals
    .values()
    .filter(count => count === 0)
    .toArray().length
for (const began = performance.now(); performance.now() < began + withinMs; ) {
  await new Promise(resolve => setTimeout(resolve, 500))
  if (finals.size > 0 && withoutResult() === 0 && performance.now() > lastAt + silentMs) break
}
await consumer.disconnect()

const twice = finals
  .values()
  .filter(count => count > 1)
  .toArray().length
const { billedTwice } = (await (await fetch(`${gateway}/_stats`)).json()) as { billedTwice: number }
console.log(`${finals.size} commands; results: ${JSON.stringify(outcomes)}`)
console.log(`without a final result: ${withoutResult()}, with more than one: ${twice}, executed twice: ${billedTwice}`)
if (!outcomes.IN_DOUBT) console.log('no command was in doubt: the kill lost no answer')
process.exit(finals.size > 0 && withoutResult() + twice + billedTwice === 0 && outcomes.IN_DOUBT ? 0 : 1)

function note(command: string, count: number): void {
  finals.set(command, (finals.get(command) ?? 0) + count)
}
