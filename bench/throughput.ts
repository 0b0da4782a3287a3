import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { openBus } from '../src/bus/open.ts'
import { javaAvailable, startKafka, startRegistry } from '../src/cli/local-kafka/index.ts'
import { freePorts } from '../src/cli/local-kafka/ports.ts'
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
  /** From the first results seen to the last. */
  commandsPerSecond: number
  /** User and system time of the whole process, its start included. */
  cpuMicrosPerCommand: number
  /** The same between the first results seen and the last. */
  cpuMicrosInSteadyState: number
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
  const [telemetryPort] = await freePorts([0])
  const env = {
    BUSGATE_KAFKA_BROKERS: infrastructure.brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: `bench-${run}`,
    // the group is new on a topic that is full; one that is under way looks nothing up
    BUSGATE_KAFKA_START_FROM: 'earliest',
    BUSGATE_DELIVERY_CHECK_RESULTS: 'false',
    BUSGATE_REGISTRY_URL: infrastructure.registryUrl,
    BUSGATE_TOPICS_COMMANDS: `bench-${run}-commands`,
    BUSGATE_TOPICS_RESULTS: `bench-${run}-results`,
    BUSGATE_TOPICS_DEAD_LETTERS: `bench-${run}-dead-letters`,
    BUSGATE_TOPICS_DOUBTS: `bench-${run}-doubts`,
    BUSGATE_GATEWAY_URL: sandbox.url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_GATEWAY_CONCURRENCY: String(options.concurrency),
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
    BUSGATE_TELEMETRY_PORT: String(telemetryPort),
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
    BUSGATE_ROLES: 'worker',
  }
  const settings = loadSettings({ env })
  const bus = openBus(settings, new Telemetry())
  const { commands, results, deadLetters, doubts } = settings.topics
  await bus.createTopics(
    [...commands, results, deadLetters, doubts].map(topic => ({ topic, partitions: options.partitions })),
  )
  await produce(settings, options.commands)

  const worker = spawn(process.execPath, [...profiling(), 'dist/cli/bin.js', 'run'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const measured = await watch(`http://127.0.0.1:${telemetryPort}/metrics`, options.commands)
  worker.kill()
  await once(worker, 'exit')
  const { billedTwice } = sandbox.stats()
  await sandbox.close()
  await bus.close()
  await infrastructure.stop()
  return { ...measured, billedTwice }
}

/** Looks at the worker's own metrics until all results are out. */
async function watch(metricsUrl: string, wanted: number): Promise<Omit<Throughput, 'billedTwice'>> {
  let first: Sample | null = null
  let peakMemory = 0
  for (;;) {
    await setTimeout(250)
    const sample = await read(metricsUrl)
    if (!sample) continue
    peakMemory = Math.max(peakMemory, sample.memory)
    if (sample.results > 0) first ??= sample
    if (!first || sample.results < wanted) continue
    const done = sample.results - first.results
    return {
      commandsPerSecond: Math.round(done / ((sample.at - first.at) / 1000)),
      cpuMicrosPerCommand: (sample.cpuSeconds / wanted) * 1e6,
      cpuMicrosInSteadyState: ((sample.cpuSeconds - first.cpuSeconds) / done) * 1e6,
      peakMemoryMiB: Math.round(peakMemory / 2 ** 20),
    }
  }
}

interface Sample {
  at: number
  results: number
  cpuSeconds: number
  memory: number
}

async function read(metricsUrl: string): Promise<Sample | null> {
  const answer = await fetch(metricsUrl).catch(() => null)
  if (!answer?.ok) return null
  const text = await answer.text()
  const sum = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (.+)$`, 'gm'))].reduce(
      (total, match) => total + Number(match[1]),
      0,
    )
  return {
    at: performance.now(),
    results: sum('busgate_results_published_total'),
    cpuSeconds: sum('process_cpu_seconds_total'),
    memory: sum('process_resident_memory_bytes'),
  }
}

/** BENCH_PROFILE names a folder for the worker's CPU profile. */
export const profiling = () =>
  process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : []

export async function findBrokers() {
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
