import { randomBytes } from 'node:crypto'
import { createWriteStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { stringify } from 'yaml'
import { openBus } from '../../bus/open.ts'
import type { Bus } from '../../bus/port.ts'
import { accountHookUrl } from '../../callbacks/hook-url.ts'
import { tokensOf } from '../../callbacks/role.ts'
import { loadSettings, type Settings } from '../../config/index.ts'
import { type CommandProducer, createProducer } from '../../producer.ts'
import { registryOf } from '../../records/open.ts'
import type { SchemaRegistry } from '../../records/registry.ts'
import { type Sandbox, startSandbox } from '../../sandbox/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { createLogger } from '../../telemetry/logs.ts'
import { createWorker } from '../../worker.ts'
import { within } from '../framework/terminal.ts'
import { createMissingTopics } from '../kafka/create-topics.ts'
import { startChild } from '../local-kafka/child.ts'
import { startKafka } from '../local-kafka/kafka.ts'
import { javaAvailable } from '../local-kafka/maven.ts'
import { freePorts } from '../local-kafka/ports.ts'
import { startRegistry } from '../local-kafka/registry.ts'
import { type Audit, startAudit } from './audit.ts'

/** The bus that the demo plays on. */
interface DemoBus {
  /** A tree of settings that names it. */
  settings: object
  /** Variables that name it and stay as they are, credentials included. */
  env: Record<string, string>
  /** Whether it is a real one, which other processes reach. */
  real: boolean
  stop(): Promise<void>
}

/** Tells whether the variables name real brokers. */
export function brokersAreNamed(): boolean {
  const brokers = process.env.BUSGATE_KAFKA_BROKERS
  return Boolean(brokers) && brokers !== 'embedded'
}

/**
 * The brokers that the variables name; else with `kafka` local ones, started here; else the embedded bus.
 * @throws Error that says what is missing
 */
async function findBus(kafka: boolean, say: (line: string) => void): Promise<DemoBus> {
  if (brokersAreNamed()) {
    say('Bus: the brokers of BUSGATE_KAFKA_BROKERS; the topics busgate-demo-… remain there.')
    return { settings: {}, env: connectionOf(process.env), real: true, stop: async () => {} }
  }
  if (!kafka) {
    say('Bus: inside this process.')
    return { settings: { kafka: { brokers: 'embedded' } }, env: {}, real: false, stop: async () => {} }
  }
  const java = await javaAvailable()
  if (!java.ok) {
    throw new Error(`${java.reason} Or name a Kafka in BUSGATE_KAFKA_BROKERS and BUSGATE_REGISTRY_URL.`)
  }
  return startLocally(say)
}

async function startLocally(say: (line: string) => void): Promise<DemoBus> {
  say('Bus: a local Kafka.')
  const log = (line: string) => say(`  ${line}`)
  const starting = [startKafka({ log }), startRegistry({ log })] as const
  const stop = async () => {
    const started = await Promise.allSettled(starting)
    await Promise.all(started.map(one => one.status === 'fulfilled' && one.value.stop()))
  }
  try {
    const [kafka, registry] = await Promise.all(starting)
    return {
      settings: { kafka: { brokers: kafka.brokers }, registry: { url: registry.url } },
      env: {},
      real: true,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Nothing else of the environment: the demo must not reach anybody's gateway, topics or group. */
function connectionOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const connection = /^BUSGATE_(KAFKA_(BROKERS|SSL|SASL_\w+)|REGISTRY_\w+)$/
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value && connection.test(name) ? [[name, value]] : [])),
  )
}

/** The demo's settings, and the file that a worker of its own process and the reader's own commands take them from. */
interface DemoSettings {
  settings: Settings
  file: string
}

/** Brokers allow no less (group.min.session.timeout.ms). A killed worker's partitions are free after it. */
const shortSessionMs = 6_000

/** Doubts are resolved while somebody watches. The gateway shares a busy machine: it may take its time to answer. */
const shortWaits = { gateway: { timeoutMs: 8_000 }, delivery: { settleMs: 1_000, pollIntervalMs: 500 } }

/** Settings of a run of its own: free ports, a new secret, and on real brokers topics and a group with new names. */
async function writeSettings(bus: DemoBus, gatewayUrl: string, folder: string): Promise<DemoSettings> {
  const [callbacks, telemetry] = await freePorts([0, 0])
  const tree = {
    ...bus.settings,
    ...(bus.real && namesOf(`busgate-demo-${Date.now().toString(36)}`, bus.settings)),
    delivery: shortWaits.delivery,
    gateway: { ...shortWaits.gateway, url: gatewayUrl, apiKey: 'sandbox-key' },
    callbacks: {
      host: '127.0.0.1',
      port: callbacks,
      publicUrl: `http://127.0.0.1:${callbacks}`,
      secret: [`demo:${randomBytes(24).toString('base64url')}`],
    },
    telemetry: { host: '127.0.0.1', port: telemetry },
  }
  const file = join(folder, 'demo.yaml')
  writeFileSync(file, stringify(tree), { mode: 0o600 })
  return { settings: loadSettings({ file, env: bus.env }), file }
}

function namesOf(name: string, { kafka }: { kafka?: object }): object {
  return {
    kafka: { ...kafka, groupId: name, startFrom: 'earliest', sessionTimeoutMs: shortSessionMs },
    topics: {
      commands: [`${name}.commands.otp`, `${name}.commands`],
      results: `${name}.results`,
      statuses: `${name}.statuses`,
      deadLetters: `${name}.dead-letters`,
      doubts: `${name}.doubts`,
      control: `${name}.control`,
    },
  }
}

export function topicsOf({ topics }: Settings): string[] {
  return [...topics.commands, topics.results, topics.statuses, topics.deadLetters, topics.doubts, topics.control]
}

/** The worker of the demo. */
interface DemoWorker {
  /** Rejects when it ends without having been told to; never resolves. */
  failed: Promise<never>
  /** Kills it as kill -9 does. Only a worker in a process of its own can be killed. */
  kill(): Promise<void>
  stop(): Promise<void>
}

const readyPollMs = 20
const readyLimitMs = 60_000

/** Starts the real worker: `busgate run` where the bus is real, else in this process. Resolves when it is ready. */
async function startDemoWorker(bus: DemoBus, demo: DemoSettings, logFile: string): Promise<DemoWorker> {
  const worker = bus.real ? inOwnProcess(bus, demo.file, logFile) : await inThisProcess(demo.settings, logFile)
  await within(readyLimitMs, "the worker's start", Promise.race([untilReady(demo.settings), worker.failed]))
  return worker
}

async function inThisProcess(settings: Settings, logFile: string): Promise<DemoWorker> {
  const log = createWriteStream(logFile, { flags: 'a' })
  const { failed, stop } = await createWorker(settings, { logger: createLogger('info', log) })
  return { failed, kill: async () => {}, stop }
}

function inOwnProcess({ env }: DemoBus, file: string, logFile: string): DemoWorker {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('BUSGATE_'))
  const child = startChild(process.execPath, [process.argv[1]!, 'run', '--config', file], {
    cwd: process.cwd(),
    env: { ...Object.fromEntries(others), ...env },
    logFile,
  })
  let expected = false
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    expected = true
    child.signal(signal)
    const { ok, how } = await child.ended
    if (!ok && signal === 'SIGTERM') throw new Error(`the worker did not stop cleanly: it ${how}`)
  }
  const failed = child.ended.then(({ how }) => {
    if (expected) return new Promise<never>(() => {})
    throw new Error(`the worker ${how}. The last lines of its log:\n${child.tail()}`)
  })
  failed.catch(() => {}) // nobody may be looking at that moment
  return { failed, kill: () => end('SIGKILL'), stop: () => end('SIGTERM') }
}

async function untilReady({ telemetry }: Settings): Promise<void> {
  const answers = async () => (await fetch(`http://${telemetry.host}:${telemetry.port}/readyz`)).ok
  while (!(await answers().catch(() => false))) await setTimeout(readyPollMs)
}

export interface StageOptions {
  /** How many commands there will be. */
  count: number
  /** Insists on a real Kafka. */
  kafka: boolean
  /** Gets the settings' file and the worker's log. */
  folder: string
  say: (line: string) => void
  /** Each ends a part, in the order in which they were started. */
  cleanups: (() => Promise<unknown>)[]
}

/** The demo's parts, running. */
export interface RunningDemo {
  demo: DemoSettings
  bus: Bus
  registry: SchemaRegistry
  sandbox: Sandbox
  audit: Audit
  producer: CommandProducer
  worker: DemoWorker
  logFile: string
  /** Rejects when the worker ends without having been told to. */
  failed: Promise<never>
  /** Kills the worker and starts another. */
  replaceWorker(): Promise<void>
}

const partitions = 4
const gatewayLatencyMs = 20
/** A receiver that is being started again is missed for some seconds. */
const callbackRetry = { tries: 8, firstDelayMs: 200 }

/** Starts everything that is missing. @throws Error that says what could not be started */
export async function setStage({ count, kafka, folder, say, cleanups }: StageOptions): Promise<RunningDemo> {
  const found = await findBus(kafka, say)
  cleanups.push(found.stop)
  const sandbox = await startSandbox({ latencyMs: gatewayLatencyMs, callbackRetry })
  cleanups.push(() => sandbox.close())
  say('Gateway: a simulator; it sends nothing to anyone.')
  const demo = await writeSettings(found, sandbox.url, folder)
  const { settings } = demo
  sandbox.setAccountCallbackUrl(accountHookUrl(settings.callbacks.publicUrl!, tokensOf(settings)!, 'default'))

  const bus = openBus(settings, new Telemetry())
  cleanups.push(() => bus.close())
  if (found.real) {
    await createMissingTopics(
      settings,
      topicsOf(settings).map(topic => ({ topic, partitions })),
    )
  }
  const registry = registryOf(settings)
  const audit = await startAudit(settings, bus, registry, count)
  cleanups.push(audit.close)
  const producer = await createProducer(settings, { bus, registry })
  cleanups.push(producer.close)

  const logFile = join(folder, 'worker.log')
  const { promise: failed, reject: fail } = Promise.withResolvers<never>()
  failed.catch(() => {}) // nobody may be looking at that moment
  const startWorker = async () => {
    const worker = await startDemoWorker(found, demo, logFile)
    worker.failed.catch(fail)
    return worker
  }
  const stage: RunningDemo = {
    demo,
    bus,
    registry,
    sandbox,
    audit,
    producer,
    worker: await startWorker(),
    logFile,
    failed,
    async replaceWorker() {
      await stage.worker.kill()
      stage.worker = await startWorker()
    },
  }
  cleanups.push(() => stage.worker.stop())
  return stage
}
