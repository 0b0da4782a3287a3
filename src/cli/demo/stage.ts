import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { openBus } from '../../bus/open.ts'
import { accountHookUrl } from '../../callbacks/hook-url.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { loadSettings, type Settings, topicsIn } from '../../config/index.ts'
import { createWorker } from '../../create-worker.ts'
import { createProducer } from '../../producer.ts'
import { registryOf } from '../../records/registry.ts'
import { startSandbox } from '../../sandbox/index.ts'
import { shellWord } from '../../shell.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { createMissingTopics } from '../kafka/create-topics.ts'
import { Audit } from './audit.ts'

/** Whether the variables name real brokers instead of the bus in this process. */
function brokersAreNamed(): boolean {
  const brokers = process.env.BUSGATE_KAFKA_BROKERS
  return Boolean(brokers) && brokers !== 'embedded'
}

/** Only the connection variables: the demo must not use a real gateway, topics or group. */
function connectionOf(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const connection = /^BUSGATE_(KAFKA_(BROKERS|SSL|SASL_\w+)|REGISTRY_\w+)$/
  return Object.fromEntries(Object.entries(env).filter(([name]) => connection.test(name)))
}

/** Short, so that doubts are resolved while the user watches; not too short for a gateway that shares a busy machine. */
const shortWaits = { gateway: { timeoutMs: 8_000 }, doubts: { waitMs: 1_000 } }
/** The brokers' minimum (group.min.session.timeout.ms). */
const shortSessionMs = 6_000

/** Settings for an isolated run: free ports, a new secret, and on real brokers new topics and a new group. */
async function writeSettings(gatewayUrl: string, file: string): Promise<Settings> {
  const port = await freePort()
  const name = `busgate-demo-${Date.now().toString(36)}`
  const real = {
    kafka: { groupId: name, startFrom: 'earliest', sessionTimeoutMs: shortSessionMs },
    topics: topicsNamed(name),
  }
  const isReal = brokersAreNamed()
  const tree = {
    ...(isReal ? real : { kafka: { brokers: 'embedded' } }),
    doubts: shortWaits.doubts,
    gateway: { ...shortWaits.gateway, url: gatewayUrl, apiKey: 'sandbox-key' },
    callbacks: {
      host: '127.0.0.1',
      port,
      publicUrl: `http://127.0.0.1:${port}`,
      secret: [`demo:${randomBytes(32).toString('base64url')}`],
    },
    telemetry: { host: '127.0.0.1', port: await freePort() },
  }
  writeFileSync(file, stringify(tree), { mode: 0o600 })
  return loadSettings({ file, env: isReal ? connectionOf(process.env) : {} })
}

/** Names of all topics, with a prefix of their own. */
export function topicsNamed(prefix: string): Settings['topics'] {
  return {
    commands: [`${prefix}.commands.otp`, `${prefix}.commands`],
    results: `${prefix}.results`,
    statuses: `${prefix}.statuses`,
    deadLetters: `${prefix}.dead-letters`,
    doubts: `${prefix}.doubts`,
    later: `${prefix}.later`,
    overdue: `${prefix}.overdue`,
    control: `${prefix}.control`,
    history: `${prefix}.history`,
    workers: `${prefix}.workers`,
  }
}

/** Chooses a port that no outgoing connection takes before the worker listens on it: most systems use those from 32,768 on. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const server = createServer().listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    server.close()
    if (isFree) return port
  }
}

export interface StageOptions {
  /** Number of commands. */
  count: number
  /** Folder for the settings file and the worker's log. */
  folder: string
  say: (line: string) => void
  /** Functions that stop the parts, in starting order. */
  cleanups: (() => Promise<unknown>)[]
}

export type RunningDemo = Awaited<ReturnType<typeof setStage>>

const partitions = 4
const gatewayLatencyMs = 20

/** Starts all parts, the worker last. @throws Error that names the part that could not start */
export async function setStage({ count, folder, say, cleanups }: StageOptions) {
  const sandbox = await startSandbox({ latencyMs: gatewayLatencyMs })
  cleanups.push(() => sandbox.close())
  say('Gateway: a simulator; it sends nothing to anyone.')
  const settingsFile = join(folder, 'demo.yaml')
  const settings = await writeSettings(sandbox.url, settingsFile)
  sandbox.setAccountCallbackUrl(accountHookUrl(settings.callbacks.publicUrl!, tokensOf(settings)!, 'default'))

  const bus = await openBus(settings, new Telemetry())
  cleanups.push(() => bus.close())
  if (brokersAreNamed()) {
    const { results, statuses } = settings.topics
    say(`Bus: the brokers of BUSGATE_KAFKA_BROKERS; ${results}, ${statuses} and the other topics remain there.`)
    const topics = topicsIn(settings.topics).map(({ topic, use }) => ({
      ...{ topic, partitions },
      ...(use === 'later' && { config: { 'cleanup.policy': 'compact' } }),
    }))
    await createMissingTopics(settings, topics)
  } else say('Bus: inside this process.')
  const registry = registryOf(settings)
  const audit = new Audit(count)
  cleanups.push(await audit.follow(settings, bus, registry))
  const producer = await createProducer(settings, { bus, registry })
  cleanups.push(producer.close)

  const logFile = join(folder, 'worker.log')
  const logger = createLogger('info', createWriteStream(logFile, { flags: 'a' }))
  const worker = await createWorker(settings, { logger })
  cleanups.push(worker.close)
  return { settings, settingsFile, logFile, bus, registry, sandbox, audit, producer, worker }
}

/** Lists all addresses. @param page URL of the page */
export function addressesOf({ settings, settingsFile, logFile, sandbox }: RunningDemo, page: string): string {
  const { kafka, registry, callbacks, telemetry } = settings
  const variables = Object.keys(connectionOf(process.env)).join(', ')
  const usable = `${settingsFile} (with ${variables} as here: busgate tail results --config ${shellWord(settingsFile)})`
  const embedded = 'in this process; others cannot reach it'
  const rows = [
    ['page', `${page} (open it in a browser)`],
    ['gateway', `${sandbox.url} (counts at /_stats, requests at /_log)`],
    ['receiver', callbacks.publicUrl],
    ['metrics', `http://${telemetry.host}:${telemetry.port}/metrics`],
    ['brokers', Array.isArray(kafka.brokers) ? kafka.brokers.join(',') : embedded],
    ['registry', registry.url ?? embedded],
    [
      'topics',
      topicsIn(settings.topics)
        .map(({ topic }) => topic)
        .join('\n            '),
    ],
    ['log', logFile],
    ['settings', Array.isArray(kafka.brokers) ? usable : settingsFile],
  ]
  return rows.map(([name, address]) => `  ${name!.padEnd(10)}${address}`).join('\n')
}
