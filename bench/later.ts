import { setTimeout as pause } from 'node:timers/promises'
import { openBus } from '../src/bus/open.ts'
import type { Bus } from '../src/bus/port.ts'
import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings, type Settings } from '../src/config/index.ts'
import { type CommandProducer, createProducer, type NewCommand } from '../src/producer.ts'
import { createDecoder, decodeAll } from '../src/records/decoder.ts'
import type { SendResult } from '../src/records/generated.ts'
import { registryOf, type SchemaRegistry } from '../src/records/registry.ts'
import { schemas } from '../src/records/schemas.ts'
import { startSandbox } from '../src/sandbox/index.ts'
import { Telemetry } from '../src/telemetry/events.ts'
import { freePorts } from '../test/support/local-kafka/ports.ts'
import type { Place } from './place.ts'
import { Processes } from './processes.ts'
import { nodeFlags } from './programs.ts'
import { ranks } from './ranks.ts'

/** What commands cost that wait, and that are due at once. One process, four partitions. */
export interface LaterFigures {
  commands: number
  movedPerSecond: number
  /** Peak resident memory of a process that took all of them over and sent them; and of one that sent 200,000 which never waited. */
  peakMiB: number
  peakWithoutMiB: number
  /** From the start of a process to its readiness, after another was killed; and the same while nothing waits. */
  takeOverSeconds: number
  emptyTakeOverSeconds: number
  releasedPerSecond: number
  /** Milliseconds until /healthz answered while they were released. */
  healthMaxMs: number
  /** Milliseconds from the producer to the first byte of urgent commands while they were released. */
  urgentP50Ms: number
  urgentP99Ms: number
  sentEarly: number
}

const partitions = 4
const chunk = 5_000
const dueWithinMs = 1_000
const urgentEveryMs = 200
const reserveMs = 60_000
const mostAtOnce = 200_000

export async function measureLater(place: Place, commands: number): Promise<LaterFigures> {
  const sandbox = await startSandbox({ latencyMs: 20, callbackDelayMs: 3_600_000 })
  const name = `bench-${Date.now().toString(36)}`
  const [port = 0] = await freePorts(1)
  const env = environmentOf(place, name, port, sandbox.url)
  const settings = loadSettings({ env })
  const { commands: lanes, ...others } = settings.topics
  await createMissingTopics(settings, [
    ...[...lanes, settings.topics.doubts].map(topic => ({ topic, partitions })),
    { topic: settings.topics.later, partitions, config: { 'cleanup.policy': 'compact' } },
    ...Object.values(others)
      .filter(topic => topic !== settings.topics.doubts && topic !== settings.topics.later)
      .map(topic => ({ topic, partitions: 1 })),
  ])
  const bus = await openBus(settings, new Telemetry())
  const producer = await createProducer(settings)
  kill((await startWorker(env, port)).processes)
  const first = await startWorker(env, port)
  await sendAtOnce(producer, Math.min(commands, mostAtOnce), await watchResults(bus, settings, registryOf(settings)))
  const sentAtOnce = sandbox.stats().executed
  const peakWithoutMiB = first.processes.peakMemoryMiB()
  const began = performance.now()
  const due = Date.now() + reserveMs + commands / 4
  await produce(producer, commands, 1, id => due - ((id * 7919) % dueWithinMs) + dueWithinMs)
  await untilWaiting(bus, settings, commands)
  const movedPerSecond = Math.round((1000 * commands) / (performance.now() - began))
  kill(first.processes)
  const second = await startWorker(env, port)
  const released = watchResults(bus, settings, registryOf(settings))
  process.stderr.write(`${commands} wait; due in ${Math.round((due - Date.now()) / 1000)} s\n`)
  await pause(Math.max(0, due - 1_000 - Date.now()))
  const sentEarly = sandbox.stats().executed - sentAtOnce
  const { results, health, urgent } = await watch(producer, port, await released, due, commands)
  const peakMiB = second.processes.peakMemoryMiB()
  kill(second.processes)
  await Promise.all([producer.close(), bus.close(), sandbox.close()])
  return {
    commands,
    movedPerSecond,
    peakMiB: Math.round(peakMiB),
    peakWithoutMiB: Math.round(peakWithoutMiB),
    takeOverSeconds: second.seconds,
    emptyTakeOverSeconds: first.seconds,
    releasedPerSecond: Math.round((1000 * results.count) / (results.last - due)),
    healthMaxMs: Math.round(ranks(health)!.max),
    urgentP50Ms: ranks(urgent)!.p50,
    urgentP99Ms: ranks(urgent)!.p99,
    sentEarly,
  }
}

function environmentOf({ brokers, registryUrl }: Place, name: string, port: number, url: string) {
  const topics = ['RESULTS', 'STATUSES', 'DEAD_LETTERS', 'DOUBTS', 'CONTROL', 'HISTORY', 'LATER', 'OVERDUE', 'WORKERS']
  return {
    ...Object.fromEntries(topics.map(use => [`BUSGATE_TOPICS_${use}`, `${name}-${use.toLowerCase()}`])),
    BUSGATE_TOPICS_COMMANDS: `${name}-urgent,${name}-bulk`,
    BUSGATE_KAFKA_BROKERS: brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: name,
    BUSGATE_KAFKA_START_FROM: 'earliest',
    BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_GATEWAY_URL: url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
    BUSGATE_TELEMETRY_PORT: String(port),
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
    BUSGATE_ROLES: 'worker',
  }
}

async function startWorker(env: Record<string, string>, port: number) {
  const processes = new Processes([{ command: process.execPath, args: [...nodeFlags, 'dist/cli/bin.js', 'run'], env }])
  const began = performance.now()
  const isReady = async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.ok ?? false
  while (!(await isReady())) {
    processes.check()
    await pause(50)
  }
  return { processes, seconds: Math.round(performance.now() - began) / 1000 }
}

function kill({ pids }: Processes): void {
  for (const pid of pids) process.kill(pid, 'SIGKILL')
}

const smsOf = (id: number): NewCommand => ({
  id,
  phone: 380_670_000_000 + (id % 1000) * 100,
  type: 'sms',
  message: { sms_message: 'Your order is on its way', sms_signature: 'Shop' },
  correlationId: `order-${id}`,
  tenant: `tenant-${id % 100}`,
  campaign: 'spring',
})

type NotBefore = (id: number) => number | null

async function produce(
  producer: CommandProducer,
  commands: number,
  first: number,
  notBefore: NotBefore,
): Promise<void> {
  for (let from = 0; from < commands; from += chunk) {
    const ids = Array.from({ length: Math.min(chunk, commands - from) }, (_, i) => first + from + i)
    await producer.send(ids.map(id => ({ ...smsOf(id), notBefore: notBefore(id) })))
  }
}

async function sendAtOnce(producer: CommandProducer, commands: number, results: Results): Promise<void> {
  await produce(producer, commands, firstAtOnce, () => null)
  while (results.count < commands) await pause(100)
  await results.close()
}

async function untilWaiting(bus: Bus, { topics }: Settings, commands: number): Promise<void> {
  let count = 0
  const reader = await bus.read([topics.later], 'earliest', (_, records) => {
    count += records.length
  })
  while (count < commands) await pause(100)
  await reader.close()
}

interface Results {
  count: number
  last: number
  /** Milliseconds from the record of each urgent command to its POST. */
  urgent: number[]
  close(): Promise<void>
}

/** Ids of the first command that does not wait, and of the first urgent one. */
const firstAtOnce = 500_000_000
const firstUrgent = 1_000_000_000

async function watchResults(bus: Bus, { topics }: Settings, registry: SchemaRegistry): Promise<Results> {
  const results: Results = { count: 0, last: 0, urgent: [], close: async () => {} }
  const decoder = createDecoder<SendResult>(schemas.result, registry)
  const reader = await bus.read([topics.results], 'latest', async (_, records) => {
    const urgent = records.filter(({ key }) => Number(String(key)) >= firstUrgent)
    results.count += records.length - urgent.length
    if (urgent.length < records.length) results.last = Date.now()
    for (const decoded of await decodeAll(decoder, urgent))
      if (decoded.ok) results.urgent.push(decoded.value.sentAt! - decoded.value.commandAt!)
  })
  results.close = () => reader.close()
  return results
}

/** Writes urgent commands and asks for the health until all are released. */
async function watch(producer: CommandProducer, port: number, results: Results, due: number, wanted: number) {
  const health: number[] = []
  let id = firstUrgent
  for (let next = Date.now(); results.count < wanted; next += urgentEveryMs) {
    await pause(Math.max(0, next - Date.now()))
    const asked = performance.now()
    const [answer] = await Promise.all([
      fetch(`http://127.0.0.1:${port}/healthz`).then(() => performance.now() - asked),
      producer.send([{ ...smsOf(id++), lane: 0 }]),
    ])
    health.push(answer)
    if (Date.now() > due + 30 * 60_000) throw new Error(`only ${results.count} of ${wanted} were released`)
  }
  await results.close()
  return { results, health, urgent: results.urgent }
}
