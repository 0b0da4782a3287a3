import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBus } from '../../src/bus/open.ts'
import type { Bus } from '../../src/bus/port.ts'
import { createMissingTopics } from '../../src/cli/kafka/create-topics.ts'
import { loadSettings, type Settings } from '../../src/config/index.ts'
import { registryOf, type SchemaRegistry } from '../../src/records/registry.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { untilReady } from '../support/local-kafka/child.ts'
import { type LocalKafka, startKafka } from '../support/local-kafka/kafka.ts'
import type { KafkaVersion } from '../support/local-kafka/maven.ts'
import { startRegistry } from '../support/local-kafka/registry.ts'
import type { Codec } from '../support/outside/producer.ts'
import { openProxy, type ReverseProxy } from '../support/reverse-proxy.ts'
import { type Jwk, keySet, sealingKey } from '../support/sealing.ts'
import { openWireTap, type WireTap } from '../support/wire-tap.ts'
import { grantRights, login, type Rights } from './rights.ts'

export interface RunOptions {
  commands: number
  /** Commands a second. */
  rate: number
  nodes: 1 | 3
  /** Partitions of each command topic, and of the doubts topic. */
  partitions: number
  /** The number of processes between faults. */
  workers: number
  kafka: KafkaVersion
  /** The codec with which Kafka's own client writes the commands. Null: busgate's producer writes them. */
  codec: Codec | 'mixed' | null
  /** Whether the content of every second batch of commands is sealed. */
  sealed: boolean
  seed: number
  /** Whether the processes run the output of `npm run build` instead of the source. */
  built: boolean
  say: (line: string) => void
}

/** A real Kafka, a registry and a gateway: everything but the processes under test. */
export interface Stage {
  kafka: LocalKafka
  /** One proxy in front of each broker, for the processes under test only. */
  taps: readonly WireTap[]
  rights: Rights
  sandbox: Sandbox
  settings: Settings
  /** The public key that content is sealed with. */
  seal: Jwk
  bus: Bus
  registry: SchemaRegistry
  /** In front of the registry, for the processes under test only. */
  registryProxy: ReverseProxy
  /** The variables of busgate's processes. */
  env: Record<string, string>
  /** The program that they run. */
  program: string
  /** The folder of their logs. */
  folder: string
  close(): Promise<void>
}

/** @param ownEnv additional settings of the processes */
export async function startStage(
  run: RunOptions,
  gateway: SandboxOptions,
  ownEnv: Record<string, string> = {},
): Promise<Stage> {
  const { nodes, partitions, kafka: version, built } = run
  const folder = await mkdtemp(join(tmpdir(), 'busgate-chaos-'))
  const taps = await Promise.all(Array.from({ length: nodes }, openWireTap))
  const proxies = taps.map(({ port }) => port)
  const [kafka, registryServer] = await Promise.all([
    startKafka({ version, nodes, proxies, users: { [login.user]: login.password } }),
    startRegistry(),
  ])
  for (const [i, tap] of taps.entries()) tap.forwardTo(kafka.outerBrokers[i]!)
  const [sandbox, registryProxy] = await Promise.all([startSandbox(gateway), openProxy(registryServer.url)])
  const key = sealingKey('chaos')
  const keysFile = join(folder, 'keys.json')
  await writeFile(keysFile, keySet(key.own))
  const open = {
    ...environment(registryServer.url, sandbox.url),
    ...ownEnv,
    BUSGATE_KAFKA_BROKERS: kafka.brokers.join(),
    BUSGATE_SEALING_KEYS_FILE: keysFile,
  }
  const settings = loadSettings({ env: open })
  const bus = await openBus(settings, new Telemetry())
  const { commands, ...others } = settings.topics
  const topics = [...commands, ...Object.values(others)]
  await createMissingTopics(settings, [
    ...commands.map(topic => ({ topic, partitions })),
    ...Object.values(others).map(topic => ({
      ...{ topic, partitions: topic === others.doubts ? partitions : 4 },
      ...(topic === others.later && { config: { 'cleanup.policy': 'compact' } }),
    })),
  ])
  const rights = await grantRights(kafka.brokers, settings)
  for (const tap of taps) await waitUntilVisible(topics, { ...open, ...throughTaps([tap]) })
  return {
    kafka,
    taps,
    rights,
    sandbox,
    settings,
    seal: key.shared,
    bus,
    registry: registryOf(settings),
    registryProxy,
    env: { ...open, ...throughTaps(taps), BUSGATE_REGISTRY_URL: registryProxy.url },
    program: built ? 'dist/cli/bin.js' : 'src/cli/main.ts',
    folder,
    async close() {
      await bus.close()
      registryProxy.close()
      await Promise.all([kafka.stop(), registryServer.stop(), sandbox.close()])
      for (const tap of taps) tap.close()
    },
  }
}

/** Waits until a broker applies the new rights: before that, the processes under test see no topics. */
async function waitUntilVisible(topics: readonly string[], env: Record<string, string>): Promise<void> {
  const bus = await openBus(loadSettings({ env }), new Telemetry())
  const areVisible = async () => (await bus.partitions(topics)).size === topics.length
  await untilReady('Kafka with the rights of the processes under test', areVisible)
  await bus.close()
}

function throughTaps(taps: readonly WireTap[]): Record<string, string> {
  return {
    BUSGATE_KAFKA_BROKERS: taps.map(({ address }) => address).join(),
    BUSGATE_KAFKA_SASL_MECHANISM: 'plain',
    BUSGATE_KAFKA_SASL_USERNAME: login.user,
    BUSGATE_KAFKA_SASL_PASSWORD: login.password,
  }
}

function environment(registryUrl: string, gatewayUrl: string): Record<string, string> {
  return {
    BUSGATE_KAFKA_GROUP_ID: 'chaos',
    BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_GATEWAY_URL: gatewayUrl,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_GATEWAY_TIMEOUT_MS: '2000',
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
    BUSGATE_DOUBTS_WAIT_MS: '6000',
    BUSGATE_TELEMETRY_PORT: '0',
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
    BUSGATE_ROLES: 'worker',
  }
}
