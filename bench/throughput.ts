import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openBus } from '../src/bus/open.ts'
import { javaAvailable, startKafka, startRegistry } from '../src/cli/local-kafka/index.ts'
import { loadSettings } from '../src/config/index.ts'
import { createProducer, type NewCommand } from '../src/producer.ts'
import { startSandbox } from '../src/sandbox/index.ts'
import { Telemetry } from '../src/telemetry/events.ts'

export interface ThroughputOptions {
  commands: number
  /** Requests in flight. */
  concurrency: number
  partitions: number
  gatewayLatencyMs: number
}

/** What one run of the worker as a process of its own cost. */
export interface Throughput {
  /** From the first result to the last. */
  commandsPerSecond: number
  /** User and system time of the whole process, its start included. */
  cpuMicrosPerCommand: number
  /** The same from the first result on. */
  cpuMicrosWithoutStart: number
  peakMemoryMiB: number
  billedTwice: number
}

/**
 * The main job on a real broker: all commands lie on the topic before the worker starts; it sends them to a gateway in
 * another process and publishes the results.
 */
export async function measureThroughput(options: ThroughputOptions): Promise<Throughput> {
  const infrastructure = await findBrokers()
  const sandbox = await startSandbox({ latencyMs: options.gatewayLatencyMs, validate: false })
  const run = Date.now().toString(36)
  const env = {
    BUSGATE_KAFKA_BROKERS: infrastructure.brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: `bench-${run}`,
    BUSGATE_REGISTRY_URL: infrastructure.registryUrl,
    BUSGATE_TOPICS_COMMANDS: `bench-${run}-commands`,
    BUSGATE_TOPICS_RESULTS: `bench-${run}-results`,
    BUSGATE_TOPICS_DEAD_LETTERS: `bench-${run}-dead-letters`,
    BUSGATE_TOPICS_DOUBTS: `bench-${run}-doubts`,
    BUSGATE_GATEWAY_URL: sandbox.url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_GATEWAY_CONCURRENCY: String(options.concurrency),
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
    BUSGATE_TELEMETRY_PORT: '0',
    BUSGATE_ROLES: 'worker',
  }
  const settings = loadSettings({ env })
  const bus = openBus(settings, new Telemetry())
  const { commands, results, deadLetters, doubts } = settings.topics
  await bus.createTopics(
    [...commands, results, deadLetters, doubts].map(topic => ({ topic, partitions: options.partitions })),
  )
  await produce(settings, options.commands)

  const worker = spawn(
    process.execPath,
    [
      ...(process.env.PROF ? ['--cpu-prof', '--cpu-prof-dir=/tmp/prof'] : []),
      'bench/worker-process.ts',
      String(options.commands),
    ],
    {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  )
  const [measured] = await once(worker, 'message')
  await once(worker, 'exit')
  const { billedTwice } = sandbox.stats()
  await sandbox.close()
  await bus.close()
  await infrastructure.stop()
  return { ...(measured as Omit<Throughput, 'billedTwice'>), billedTwice }
}

async function findBrokers() {
  const { KAFKA_BROKERS, REGISTRY_URL } = process.env
  if (KAFKA_BROKERS && REGISTRY_URL) {
    return { brokers: KAFKA_BROKERS.split(','), registryUrl: REGISTRY_URL, stop: async () => {} }
  }
  const java = await javaAvailable()
  if (!java.ok) throw new Error(java.reason)
  const [kafka, registry] = await Promise.all([startKafka(), startRegistry()])
  const stop = async () => {
    await Promise.all([kafka.stop(), registry.stop()])
  }
  return { brokers: kafka.brokers, registryUrl: registry.url, stop }
}

async function produce(settings: Parameters<typeof createProducer>[0], count: number): Promise<void> {
  const producer = await createProducer(settings)
  const batch = 2000
  for (let from = 0; from < count; from += batch) {
    await producer.send(Array.from({ length: Math.min(batch, count - from) }, (_, i) => buildSms(from + i + 1)))
  }
  await producer.close()
}

/** 225 bytes of Avro, as in the measurements of other programs. */
function buildSms(id: number): NewCommand {
  const sms_message = `Order ${id} is on its way. ${'Thank you for your trust in our shop. '.repeat(4)}`.slice(0, 160)
  return {
    id: 10_000_000_000 + id,
    phone: 380_670_000_000 + id * 100,
    type: 'sms',
    message: { sms_message, sms_signature: 'Shop' },
    correlationId: `order-${id}`.padEnd(20, '-'),
    tenant: 'tenant-7',
  }
}
