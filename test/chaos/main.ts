import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openBus } from '../../src/bus/open.ts'
import { startKafka, startRegistry } from '../../src/cli/local-kafka/index.ts'
import { loadSettings, type Settings } from '../../src/config/index.ts'
import { createProducer, type NewCommand } from '../../src/producer.ts'
import { registryOf } from '../../src/records/open.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { Audit, violations } from './audit.ts'
import { makeTrouble, restartNodesInTurn } from './faults.ts'
import { Fleet } from './fleet.ts'
import { idOf, policyOf } from './ids.ts'

/**
 * Worker processes on a real Kafka under load, while they are killed, frozen, joined and told to leave, brokers go and
 * come, and the gateway misbehaves. Then the topics and the gateway are counted.
 */
const { values } = parseArgs({
  options: {
    commands: { type: 'string', default: '20000' },
    brokers: { type: 'string', default: '1' },
    /** Commands a second; trouble is made while they come. */
    rate: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** Leaves the brokers alone. */
    'calm-brokers': { type: 'boolean', default: false },
    /** Nothing but a restart of every broker in turn: must leave nothing in doubt. */
    rolling: { type: 'boolean', default: false },
  },
})
const commands = Number(values.commands)
const nodes = values.brokers === '3' ? 3 : 1
const started = performance.now()
const say = (line: string) => console.log(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`)

const folder = await mkdtemp(join(tmpdir(), 'busgate-chaos-'))
const [kafka, registryServer] = await Promise.all([startKafka({ nodes }), startRegistry()])
const sandbox = await startSandbox({ latencyMs: { min: 5, max: 40 } })
const env = environment()
const settings = loadSettings({ env })
const bus = openBus(settings, new Telemetry())
const { topics } = settings
const all = [...topics.commands, topics.doubts, topics.results, topics.statuses, topics.deadLetters]
await bus.createTopics(all.map(topic => ({ topic, partitions: 4 })))
const fleet = new Fleet(env, folder)
for (let i = 0; i < 3; i++) fleet.start()
const audit = new Audit(commands)
await audit.read(bus, settings, registryOf(settings))
say(`${commands} commands at ${values.rate}/s, ${nodes} broker(s), seed ${values.seed}, logs in ${folder}`)

const stop = new AbortController()
const scene = { fleet, kafka, nodes, sandbox, random: seeded(Number(values.seed)), say }
const trouble = values.rolling ? restartNodesInTurn(scene) : makeTrouble(scene, stop.signal, !values['calm-brokers'])
await produce(settings, commands, Number(values.rate))
stop.abort()
const faults = await trouble
say(`${faults} faults made; waiting for the rest of the results`)
await untilFinished()

const verdict = audit.verdict(sandbox)
const { outcomes, ...counts } = verdict
console.table({ ...counts, faults, workersRestartedThemselves: fleet.restarts })
console.table(outcomes)
const broken = [...violations(verdict), ...(values.rolling && verdict.everInDoubt > 0 ? ['everInDoubt'] : [])]
say(broken.length === 0 ? 'every promise was kept' : `BROKEN: ${broken.join(', ')}; logs in ${folder}`)
await fleet.close()
await Promise.all([kafka.stop(), registryServer.stop(), sandbox.close()])
process.exit(broken.length === 0 ? 0 : 1)

function environment(): Record<string, string> {
  return {
    BUSGATE_KAFKA_BROKERS: kafka.brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: 'chaos',
    BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
    BUSGATE_KAFKA_DRAIN_MS: '3000',
    BUSGATE_REGISTRY_URL: registryServer.url,
    BUSGATE_GATEWAY_URL: sandbox.url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_GATEWAY_TIMEOUT_MS: '2000',
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
    BUSGATE_DELIVERY_SETTLE_MS: '6000',
    BUSGATE_DELIVERY_POLL_INTERVAL_MS: '500',
    BUSGATE_TELEMETRY_PORT: '0',
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
    BUSGATE_ROLES: 'worker',
  }
}

async function produce(settings: Settings, count: number, perSecond: number): Promise<void> {
  const producer = await createProducer(settings)
  const batch = Math.max(1, Math.round(perSecond / 20))
  for (let from = 0; from < count; from += batch) {
    const size = Math.min(batch, count - from)
    const chunk = Array.from({ length: size }, (_, i) => buildSms(from + i))
    await sendUntilConfirmed(() => producer.send(chunk))
    await pause((size / perSecond) * 1000)
  }
  await producer.close()
}

/** An unconfirmed send is repeated as it is: the repeated ids are duplicates, which get a DUPLICATE result. */
async function sendUntilConfirmed(send: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await send()
      return
    } catch (error) {
      say(`producer: ${(error as Error).message}`)
      await pause(500)
    }
  }
}

function buildSms(index: number): NewCommand {
  return {
    id: idOf(index),
    phone: 380_670_000_000 + (index % 1000) * 100,
    type: 'sms',
    message: { sms_message: 'Your order is on its way', sms_signature: 'Shop' },
    delivery: policyOf(index),
  }
}

async function untilFinished(): Promise<void> {
  const patience = performance.now() + 240_000
  let last = -1
  while (audit.finished < commands && performance.now() < patience) {
    if (audit.finished !== last) say(`${audit.finished} of ${commands} finished`)
    last = audit.finished
    await pause(2000)
  }
  await pause(3000) // a second result would follow now
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
