import type { Logger } from 'pino'
import { onTestFinished, vi } from 'vitest'
import { MemoryBroker, type TopicSpec } from '../../src/bus/memory/broker.ts'
import { MemoryBus, type MemoryBusOptions } from '../../src/bus/memory/bus.ts'
import { openBus } from '../../src/bus/open.ts'
import type { Bus, BusRecord, OutgoingRecord } from '../../src/bus/port.ts'
import { accountHookUrl } from '../../src/callbacks/hook-url.ts'
import { tokensOf } from '../../src/callbacks/role.ts'
import { topicsNamed } from '../../src/cli/demo/stage.ts'
import { planTopics } from '../../src/cli/doctor/topics.ts'
import { createMissingTopics } from '../../src/cli/kafka/create-topics.ts'
import { systemClock } from '../../src/clock.ts'
import { loadSettings, type Settings } from '../../src/config/index.ts'
import { createWorker, type Worker } from '../../src/create-worker.ts'
import { createProducer } from '../../src/producer.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, registryOf, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { type Sandbox, type SandboxOptions, type SandboxStats, startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { asStable } from './events.ts'
import type { Brokers } from './integration.ts'
import { plainKafka } from './kafka.ts'
import { type ReverseProxy, startProxy } from './reverse-proxy.ts'

export interface WorldOptions {
  /** A tree as in the settings file. */
  settings?: object
  sandbox?: SandboxOptions
  /** A proxy in front of the sandbox. */
  gateway?: ReverseProxy
  /** A real Kafka and registry. Default: embedded ones. */
  brokers?: Brokers
  /** Default: the embedded one. */
  registry?: SchemaRegistry
  /**
   * Partitions of the topics of commands and doubts; every other topic has one. Default 1, which makes envelopes
   * predictable.
   */
  partitions?: number
  /** max.message.bytes of the topics, by their setting. Default: the broker's. */
  maxMessageBytes?: Partial<Record<keyof Settings['topics'], number>>
  logger?: Logger
  /** The embedded broker. Default: a new one. */
  broker?: MemoryBroker
}

/** A worker with the sandbox, a bus, and a receiver that the sandbox can reach, and the records on its output topics. */
export type World = Awaited<ReturnType<typeof startWorld>>

/** The outcomes of a command's results, in order. */
export const outcomesOf = (world: World, id: bigint): string[] =>
  world.results().flatMap(result => (result.id === id ? [`${result.outcome}${result.final ? '' : ' for now'}`] : []))

/** The final result of a command. @throws Error unless there is exactly one */
export function finalOf(world: World, id: bigint): SendResult {
  const finals = world.results().filter(result => result.id === id && result.final)
  if (finals.length !== 1) throw new Error(`${finals.length} final results of ${id}, 1 expected`)
  return finals[0]!
}

/** Waits for some milliseconds in which the test asserts that something does not happen. */
export async function observeFor(ms: number): Promise<void> {
  const end = performance.now() + ms
  await vi.waitUntil(() => performance.now() > end, { timeout: ms + patienceMs, interval: 5 })
}

/** The time-out for a condition, long enough for a busy machine. */
const patienceMs = 60_000

let worlds = 0

/** Starts a world. It is closed at the end of the test. */
export async function startWorld(options: WorldOptions = {}) {
  const sandbox = await startSandbox({ callbackDelayMs: 0, ...options.sandbox })
  onTestFinished(() => sandbox.close())
  if (options.gateway) options.gateway.target = sandbox.url
  const receiver = await startProxy()
  const settings = worldSettings(options, sandbox, receiver)
  const { topics } = settings
  const hookTokens = tokensOf(settings)!
  sandbox.setAccountCallbackUrl(
    Object.fromEntries(
      [...settings.gateway.accounts.keys()].map(name => [name, accountHookUrl(receiver.url, hookTokens, name)]),
    ),
  )
  const registry = options.registry ?? (options.brokers ? registryOf(settings) : embeddedRegistry())
  const { broker = new MemoryBroker() } = options
  const { groupId, drainMs, startFrom } = settings.kafka
  const openMemoryBus = (telemetry: Telemetry, more: Pick<MemoryBusOptions, 'hop' | 'fetchRecords'> = {}) =>
    closing(new MemoryBus({ broker, groupId, clock: systemClock, telemetry, drainMs, startFrom, ...more }))
  const openOwnBus = async (telemetry: Telemetry) =>
    options.brokers ? closing(await openBus(settings, telemetry)) : openMemoryBus(telemetry)
  const bus = await openOwnBus(new Telemetry())
  if (options.brokers) await createMissingTopics(settings, topicsOf(settings, options))
  else broker.createTopics(topicsOf(settings, options))
  const output = await readOutput(bus, registry, settings)
  const publisher = await bus.publisher()
  const bulk = topics.commands.at(-1)!
  const encode = await createEncoder<SendCommand>(subjectOf(bulk), schemas.command, registry)
  const workers: Worker[] = []

  async function startWorker(openItsBus?: (telemetry: Telemetry) => Bus | Promise<Bus>): Promise<Worker> {
    const telemetry = new Telemetry()
    const open = openItsBus ?? (options.brokers ? null : openOwnBus)
    const worker = await createWorker(settings, {
      registry,
      telemetry: asStable(telemetry),
      ...(open && { bus: await open(telemetry) }),
      ...(options.logger && { logger: options.logger }),
    })
    workers.push(worker)
    onTestFinished(() => worker.close())
    receiver.target = `http://127.0.0.1:${worker.ports.callbacks}`
    return worker
  }

  const worker = await startWorker()
  // the worker's questions before it took partitions do not count
  options.gateway?.requests.splice(0)
  const asked = sandbox.stats()
  const since = (now: SandboxStats) => ({
    ...now,
    requests: now.requests - asked.requests,
    operations: now.operations - asked.operations,
  })
  const producer = await createProducer(settings, { bus, registry })
  onTestFinished(() => producer.close())
  onTestFinished(() => publisher.close())

  return {
    settings,
    sandbox: {
      ...sandbox,
      stats: () => since(sandbox.stats()),
      log: () => sandbox.log().slice(asked.requests),
    },
    worker,
    producer,
    bus,
    registry,
    /** The reverse proxy in front of the worker's receiver, at callbacks.publicUrl. */
    receiver,
    /** Starts another worker in the same group, like another process. */
    startWorker,
    /** Opens an in-memory bus for another worker. */
    openMemoryBus,
    /** Resets partition 0 as `kafka-consumer-groups --reset-offsets` does; no worker may run. Default: `send`'s topic. */
    resetOffset: (offset: number, topic = bulk): Promise<void> =>
      options.brokers
        ? resetOnKafka(options.brokers, { groupId, topic, offset })
        : Promise.resolve(broker.resetOffset(groupId, { topic, partition: 0 }, offset)),
    /** The group's committed offset on `send`'s topic, on the in-memory bus; -1 if there is none. */
    committedOffset: () => broker.committed(groupId, { topic: bulk, partition: 0 })?.offset ?? -1,
    encode,
    /** Writes commands without checks, as any upstream service could; by default to the least urgent topic. */
    send: (commands: readonly SendCommand[], topic = bulk) =>
      publisher.publish(
        commands.map(command => ({ topic, key: Buffer.from(String(command.id)), value: encode(command) })),
      ),
    produceRaw: (value: Buffer | null, record: Partial<OutgoingRecord> = {}) =>
      publisher.publish([{ topic: bulk, key: null, value, ...record }]),
    /** The results read so far. Wait for `finished` or `quiet` first. */
    results: () => output.results,
    resultOf(id: bigint | number): SendResult {
      const ofId = output.results.filter(result => result.id === BigInt(id))
      if (ofId.length !== 1) throw new Error(`${ofId.length} results of ${id}, 1 expected`)
      return ofId[0]!
    },
    statuses: () => output.statuses,
    deadLetters: () => output.deadLetters,
    /** Waits for `count` final results. */
    finished: (count: number) =>
      vi.waitFor(
        () => {
          const final = output.results.filter(result => result.final)
          if (final.length < count) throw new Error(`${final.length} final results, ${count} expected`)
          return final
        },
        { timeout: patienceMs, interval: 5 },
      ),
    /** Stops every worker and reads the topics to their ends, so that nothing can be added. */
    async quiet(): Promise<void> {
      await Promise.all(workers.map(worker => worker.close()))
      await output.toTheEnd(records => publisher.publish(records))
    },
  }
}

function worldSettings(
  { settings = {}, brokers, gateway: inFront }: WorldOptions,
  sandbox: Sandbox,
  receiver: ReverseProxy,
): Settings {
  const name = `world-${process.pid}-${Date.now().toString(36)}-${++worlds}`
  const base = {
    kafka: { brokers: brokers?.brokers ?? 'embedded', groupId: name },
    ...(brokers && { registry: { url: brokers.registryUrl } }),
    topics: { ...topicsNamed(name) },
    gateway: { url: inFront?.url ?? sandbox.url, balanceIntervalMs: 0, lingerMs: 5 },
    callbacks: { host: '127.0.0.1', port: 0, publicUrl: receiver.url, secret: 'k1:a-secret-of-the-tests' },
    telemetry: { host: '127.0.0.1', port: 0 },
  }
  const { gateway = {} } = settings as { gateway?: Record<string, unknown> }
  const ownKey = 'apiKey' in gateway || 'apiKeyFile' in gateway
  return loadSettings({
    env: ownKey ? {} : { BUSGATE_GATEWAY_API_KEY: 'sandbox-key' },
    overrides: merged(base, settings),
  })
}

/** The topics that `busgate topics create` plans for one broker, changed by the options. */
function topicsOf(settings: Settings, { partitions = 1, maxMessageBytes = {} }: WorldOptions): TopicSpec[] {
  const planned = planTopics(settings, { existing: new Map(), nodes: 1 })
  return planned.map(({ topic, use, config }) => {
    const most = maxMessageBytes[use]
    const isSplit = use === 'commands' || use === 'doubts'
    return {
      topic,
      partitions: isSplit ? partitions : 1,
      config: { ...config, ...(most !== undefined && { 'max.message.bytes': String(most) }) },
    }
  })
}

type Tree = Record<string, unknown>

function merged(base: Tree, over: object): Tree {
  const result = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = result[key]
    result[key] = isTree(below) && isTree(value) ? merged(below, value) : value
  }
  return result
}

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

function closing<T extends Bus>(bus: T): T {
  onTestFinished(() => bus.close())
  return bus
}

async function resetOnKafka(
  { brokers }: Brokers,
  { groupId, topic, offset }: { groupId: string; topic: string; offset: number },
): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  try {
    await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: String(offset) }] })
  } finally {
    await admin.disconnect()
  }
}

const endKey = 'end of the test'

async function readOutput(bus: Bus, registry: SchemaRegistry, { topics }: Settings) {
  const results: SendResult[] = []
  const statuses: StatusEvent[] = []
  const deadLetters: BusRecord[] = []
  let ended = 0
  const reading: Record<string, (record: BusRecord) => Promise<unknown> | unknown> = {
    [topics.results]: into(results, schemas.result, registry),
    [topics.statuses]: into(statuses, schemas.status, registry),
    [topics.deadLetters]: record => deadLetters.push(record),
  }
  const reader = await bus.read(Object.keys(reading), 'earliest', async ({ topic }, records) => {
    for (const record of records) {
      if (record.key?.toString() === endKey) ended++
      else await reading[topic]!(record)
    }
  })
  onTestFinished(() => reader.close())

  return {
    results,
    statuses,
    deadLetters,
    async toTheEnd(publish: (records: OutgoingRecord[]) => Promise<void>): Promise<void> {
      const before = ended
      const marks = Object.keys(reading).map(topic => ({ topic, key: Buffer.from(endKey), value: null, partition: 0 }))
      await publish(marks)
      await vi.waitUntil(() => ended === before + marks.length, { timeout: patienceMs, interval: 5 })
    },
  }
}

function into<T>(list: T[], schema: object, registry: SchemaRegistry): (record: BusRecord) => Promise<void> {
  const decoder = createDecoder<T>(schema, registry)
  return async ({ value }) => {
    let decoded = decoder.decode(value)
    if (!decoded.ok && 'pending' in decoded) {
      await decoder.prepare(decoded.pending)
      decoded = decoder.decode(value)
    }
    if (!decoded.ok) throw new Error(`a record of the worker cannot be read: ${JSON.stringify(decoded)}`)
    list.push(decoded.value)
  }
}
