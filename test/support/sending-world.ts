import { onTestFinished } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { type Hop, MemoryBus } from '../../src/bus/memory/bus.ts'
import { partitionOf } from '../../src/bus/murmur2.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import type { Settings } from '../../src/config/index.ts'
import { type Sending, startSending } from '../../src/dispatch/role.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { itemsAnswer, sentItem } from './answers.ts'
import { ManualClock } from './clock.ts'
import { buildCommand } from './commands.ts'
import { buildSettings } from './settings.ts'
import { buildStatusEvent } from './status-events.ts'

export interface Operation {
  type: string
  id: number
}

export interface Post {
  /** Virtual milliseconds since the start. */
  at: number
  operations: Operation[]
}

export interface SendingOptions {
  /** How the gateway answers an envelope; everything is sent unless told otherwise. */
  answer?: (operations: Operation[]) => Answer | Promise<Answer>
  /** What a request waits for before its first byte. */
  connected?: (operations: Operation[]) => Promise<void>
  /** What each step at the broker takes. */
  hop?: Hop
  settings?: object
  /** How far the clock of whoever writes commands is ahead, in milliseconds. */
  producerAheadMs?: number
  partitions?: number
  /** Topics with cleanup.policy=compact, by their names in the settings. */
  compacted?: readonly ('doubts' | 'results' | 'statuses' | 'deadLetters')[]
  registry?: SchemaRegistry
  /** Topics that are not there at the start, by their names in the settings. */
  missing?: readonly 'statuses'[]
}

export const sentAll = (operations: Operation[]): Answer =>
  itemsAnswer(
    ...operations.map(({ type, id }) => (type === 'balance' ? { success: true, data: {} } : sentItem(id, { data: 0 }))),
  )

/** The role `worker` on a bus in memory with a gateway of the test's own, in a time that passes as the test says. */
export async function startSendingWorld(options: SendingOptions = {}) {
  const { answer = sentAll, connected = async () => {}, hop = async () => {}, partitions = 1 } = options
  const { producerAheadMs = 0 } = options
  const clock = new ManualClock()
  const broker = new MemoryBroker(clock)
  const telemetry = new Telemetry()
  const registry = options.registry ?? embeddedRegistry()
  const settings = buildSettings({ ...options.settings, gateway: { balanceIntervalMs: 0, ...gatewayOf(options) } })
  const { topics } = settings
  broker.createTopics([
    ...[...topics.commands, topics.doubts].map(topic => ({ topic, partitions })),
    ...[topics.results, topics.deadLetters].map(topic => ({ topic, partitions: 1 })),
  ])
  const createStatuses = (partitions = 1) => broker.createTopics([{ topic: topics.statuses, partitions }])
  if (!options.missing?.includes('statuses')) createStatuses()
  for (const use of options.compacted ?? []) broker.compacted.add(topics[use])
  const posts: Post[] = []
  let dead: MemoryBus | null = null
  const join = async (groupId: string, overrides: object = {}): Promise<{ sending: Sending; bus: MemoryBus }> => {
    const bus = new MemoryBus({
      broker,
      groupId,
      clock,
      telemetry,
      drainMs: 5000,
      startFrom: 'earliest',
      hop,
    })
    onTestFinished(() => bus.close())
    const starting = startSending({
      settings: {
        ...settings,
        topics: { ...topics, ...overrides },
        gateway: { ...settings.gateway, url: 'http://gateway' },
      },
      bus,
      registry,
      telemetry,
      clock,
      hookFor: () => null,
      random: () => 0.5,
      connection: {
        async post(body, lastCheck) {
          const operations = (parseJson(body) as { data: Operation[] }).data
          await connected(operations)
          const reason = lastCheck()
          if (reason !== null) return { kind: 'not_sent', cause: 'withheld', message: reason }
          posts.push({ at: clock.monotonic(), operations })
          return answer(operations)
        },
        close: async () => {},
      },
      fatal: error => {
        if (bus !== dead) throw error
      },
    })
    const [sending] = await Promise.all([starting, clock.pass(1000)])
    return { bus, sending }
  }
  const { sending, bus } = await join('g')
  const encodeCommand = await createEncoder<SendCommand>(subjectOf(topics.commands[0]!), schemas.command, registry)
  const encodeDoubt = await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry)
  const encodeStatus = await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry)
  const decodeResult = createDecoder<SendResult>(schemas.result, registry)
  await decodeResult.prepare(await registry.idOf(subjectOf(topics.results), schemas.result))
  const keyOf = (id: number) => Buffer.from(String(id))
  const write = (topic: string, id: number, value: Buffer) => {
    const key = keyOf(id)
    const count = topic === topics.statuses ? broker.partitions(topic)! : partitions
    const ahead = topics.commands.includes(topic) ? producerAheadMs : 0
    broker.append([{ topic, partition: partitionOf(key, count), key, value }], clock.now() + ahead)
  }

  return {
    clock,
    broker,
    createStatuses,
    sending,
    bus,
    telemetry,
    settings,
    posts,
    /** One more process in the group, with some of its topics others. */
    startAnother: async (topics: Partial<Settings['topics']>) => (await join('g', topics)).sending,
    /** The process dies, and another one takes its partitions over. */
    async takeOver() {
      dead = bus
      await bus.crash()
      await join('g')
    },
    /** Stops the first process in order. */
    async stop() {
      await Promise.all([sending.stop(), clock.pass(10_000)])
    },
    /** How often an id stood in an envelope of commands. */
    postsOf: (id: number) =>
      posts.filter(({ operations }) => operations.some(one => one.id === id && one.type !== 'status')).length,
    /** Writes a command; the topic is the least urgent one unless named. */
    send: (id: number, overrides: Partial<SendCommand> = {}, topic = topics.commands.at(-1)!) =>
      write(topic, id, encodeCommand(buildCommand({ id: BigInt(id), ...overrides }))),
    /** Writes any record to a partition of the least urgent topic. */
    append: (record: Omit<OutgoingRecord, 'topic'>, timestamp = clock.now()) =>
      broker.append([{ topic: topics.commands.at(-1)!, partition: 0, ...record }], timestamp),
    encode: (overrides: Partial<SendCommand>) => encodeCommand(buildCommand(overrides)),
    doubted(id: number, overrides: Partial<Doubt> = {}, command: Partial<SendCommand> = {}) {
      const doubt: Doubt = {
        topic: topics.commands[0]!,
        partition: 0,
        offset: id,
        timestamp: clock.now(),
        key: keyOf(id),
        value: encodeCommand(buildCommand({ id: BigInt(id), ...command })),
        headers: [],
        account: 'default',
        attempts: 1,
        postedAt: clock.now(),
        postedSince: null,
        cause: 'timeout',
        type: 'sms',
        correlationId: null,
        tenant: null,
        omitted: null,
        ...overrides,
      }
      write(topics.doubts, id, encodeDoubt(doubt))
    },
    calledBack: (id: number) => write(topics.statuses, id, encodeStatus(buildStatusEvent({ id: BigInt(id) }))),
    results: () =>
      broker.read({ topic: topics.results, partition: 0 }, 0, 100_000).records.map(({ value }) => {
        const decoded = decodeResult.decode(value)
        if (!decoded.ok) throw new Error('a result cannot be read')
        return decoded.value
      }),
    /** How many there are. */
    deadLetters: () => broker.end({ topic: topics.deadLetters, partition: 0 }),
    gauge: (name: string) =>
      [...sending.gauges.read()].filter(one => one.name === name).reduce((sum, { value }) => sum + value, 0),
  }
}

const gatewayOf = ({ settings = {} }: SendingOptions): object => (settings as { gateway?: object }).gateway ?? {}
