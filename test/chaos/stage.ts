import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBus } from '../../src/bus/open.ts'
import type { Bus } from '../../src/bus/port.ts'
import { type LocalKafka, startKafka, startRegistry } from '../../src/cli/local-kafka/index.ts'
import { loadSettings, type Settings } from '../../src/config/index.ts'
import { registryOf } from '../../src/records/open.ts'
import type { SchemaRegistry } from '../../src/records/registry.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'

export interface RunOptions {
  commands: number
  /** Commands a second. */
  rate: number
  nodes: 1 | 3
  seed: number
  say: (line: string) => void
}

/** What a run comes to: tables to be shown, and the names of the promises that were broken. */
export interface Outcome {
  figures: object[]
  broken: string[]
}

/** A real Kafka, a registry and a gateway: everything but the processes under test. */
export interface Stage {
  kafka: LocalKafka
  sandbox: Sandbox
  settings: Settings
  bus: Bus
  registry: SchemaRegistry
  /** For processes of busgate. */
  env: Record<string, string>
  /** For their logs. */
  folder: string
  close(): Promise<void>
}

export interface StageOptions {
  nodes: 1 | 3
  sandbox: SandboxOptions
  /** Settings beside the ones that every run has. */
  env?: Record<string, string>
}

const partitions = 4

export async function setStage({ nodes, sandbox: sandboxOptions, env: ownEnv = {} }: StageOptions): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'busgate-chaos-'))
  const [kafka, registryServer] = await Promise.all([startKafka({ nodes }), startRegistry()])
  const sandbox = await startSandbox(sandboxOptions)
  const env = { ...environment(kafka.brokers, registryServer.url, sandbox.url), ...ownEnv }
  const settings = loadSettings({ env })
  const bus = openBus(settings, new Telemetry())
  const { commands, ...others } = settings.topics
  await bus.createTopics([...commands, ...Object.values(others)].map(topic => ({ topic, partitions })))
  return {
    kafka,
    sandbox,
    settings,
    bus,
    registry: registryOf(settings),
    env,
    folder,
    async close() {
      await bus.close()
      await Promise.all([kafka.stop(), registryServer.stop(), sandbox.close()])
    },
  }
}

function environment(brokers: readonly string[], registryUrl: string, gatewayUrl: string): Record<string, string> {
  return {
    BUSGATE_KAFKA_BROKERS: brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: 'chaos',
    BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
    BUSGATE_KAFKA_DRAIN_MS: '3000',
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_GATEWAY_URL: gatewayUrl,
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
