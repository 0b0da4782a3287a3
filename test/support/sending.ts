import { onTestFinished } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { type Hop, MemoryBus } from '../../src/bus/memory/bus.ts'
import { partitionOf } from '../../src/bus/murmur2.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { installationOf, loadSettings, type Settings } from '../../src/config/index.ts'
import { Secret } from '../../src/config/secret.ts'
import { type Change, writeChange } from '../../src/control/change.ts'
import type { Answer, Connection } from '../../src/gateway/connection.ts'
import { parseJson } from '../../src/protocol/index.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { Doubt, SendCommand, SendResult, StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { type Sending, startSending } from '../../src/worker/role.ts'
import { type AnyItem, itemsAnswer, refusal, refusedItem, sentItem } from './answers.ts'
import { TestListener } from './bus.ts'
import { ManualClock, settled } from './clock.ts'
import { buildCommand } from './commands.ts'
import { buildDoubt } from './doubts.ts'
import { buildStatusEvent } from './status-events.ts'

export interface Operation {
  type: string
  id: number
}

/** A request that the scripted gateway received. */
export interface Post {
  /** The account's API key. */
  auth: string
  operations: Operation[]
  ids: number[]
  /** The length of its body. */
  bytes: number
  /** Monotonic milliseconds of its first byte. */
  at: number
  /** Whether its API key is denied. */
  denied: boolean
}

export interface SendingOptions {
  /** A tree as in the settings file. */
  settings?: object
  /** Overrides the settings of `gateway`. */
  gateway?: object
  /** The rate of each account, in operations a second; undefined: no limit. An account's API key is its name. */
  accounts?: Record<string, number | undefined>
  /** Further settings of single accounts. */
  own?: Record<string, object>
  partitions?: number
  /** Milliseconds until the response. Default 0; Infinity: never. */
  takes?: (post: Post) => number
  /** The gateway's answer to an envelope; null: it accepts all commands and knows no status. */
  answer?: (operations: Operation[], post: Post) => Answer | null | Promise<Answer | null>
  /** Accounts whose balance is never answered. Default: none. */
  silent?: readonly string[]
  /** Delays the first byte of a request, like a slow connect. */
  connected?: (operations: Operation[]) => Promise<void>
  /** Delays each step at the broker. */
  hop?: Hop
  registry?: SchemaRegistry
  /** Topics with cleanup.policy=compact, by their setting. */
  compacted?: readonly ('doubts' | 'results' | 'statuses' | 'deadLetters')[]
  /** Whether retention by age applies to the table of commands that wait. */
  laterExpires?: boolean
  /** Topics that do not exist at the start, by their setting. */
  missing?: readonly (keyof Settings['topics'])[]
  /** Records on the control topic when the worker starts. */
  control?: readonly OutgoingRecord[]
  /** Whether the worker may stop on a fatal error. */
  mayEnd?: boolean
  /** Registers what closes the world. Default: the end of the test. */
  atEnd?: (close: () => Promise<void>) => void
  /** Default: MemoryBroker. */
  Broker?: typeof MemoryBroker
}

type WorkerSettings = Settings & { gateway: { url: string } }

const topics = {
  commands: ['urgent', 'bulk'],
  results: 'results',
  statuses: 'statuses',
  doubts: 'doubts',
  deadLetters: 'dead-letters',
  control: 'control',
  history: 'history',
  later: 'later',
  overdue: 'overdue',
  workers: 'workers',
}

/** Accounts of a world with only one: it may use all slots. */
export const alone = { default: undefined }

/** Accepts all commands; knows no status. */
const acceptAll = (operations: readonly Operation[]): Answer => itemsAnswer(...operations.map(acceptOne))

function acceptOne({ type, id }: Operation): AnyItem {
  if (type === 'status') return refusedItem(id, 'Message not found')
  return type === 'balance' ? { success: true, data: { amount: 100, currency: 'UAH' } } : sentItem(id, { data: 0 })
}

export const numbersFrom = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i)

export const sorted = (ids: readonly number[]) => ids.toSorted((a, b) => a - b)

function settingsOf(options: SendingOptions): WorkerSettings {
  const { settings = {}, gateway, own = {} } = options
  const { accounts = { default: undefined, other: undefined } } = options
  const keys = Object.entries(accounts).map(([name, rate]) => [
    name,
    { apiKey: name, ...(rate && { rate }), ...own[name] },
  ])
  const given = settings as { topics?: object; gateway?: object }
  return loadSettings({
    env: {},
    overrides: {
      ...settings,
      kafka: { brokers: 'embedded' },
      topics: { ...topics, ...given.topics },
      gateway: {
        ...{ url: 'http://127.0.0.1:1', balanceIntervalMs: 0, accounts: Object.fromEntries(keys) },
        ...given.gateway,
        ...gateway,
      },
    },
  }) as WorkerSettings
}

function createBroker(
  { partitions = 1, missing, control = [], Broker = MemoryBroker }: SendingOptions,
  { topics }: Settings,
  clock: ManualClock,
) {
  const broker = new Broker(clock)
  broker.createTopics([
    ...[...topics.commands, topics.doubts].map(topic => ({ topic, partitions })),
    ...[topics.results, topics.deadLetters, topics.later].map(topic => ({ topic, partitions: 1 })),
    ...(['statuses', 'control'] as const).flatMap(use =>
      missing?.includes(use) ? [] : [{ topic: topics[use], partitions: 1 }],
    ),
  ])
  broker.append(
    control.map(record => ({ partition: 0, ...record })),
    clock.now(),
  )
  return broker
}

/**
 * Creates a scripted gateway that answers in virtual time. The first question about each account, which proves it to a
 * connected process, is always accepted, and not recorded.
 */
function createGateway(options: SendingOptions, clock: ManualClock) {
  const { answer = () => null, connected, takes = () => 0, silent = [] } = options
  const posts: Post[] = []
  const denied = new Set<string>()
  const distrusts: number[] = []
  const connect = (proved = new Set<string>()): Connection => ({
    async post(body, lastCheck) {
      const { auth, data: operations } = parseJson(body) as { auth: string; data: Operation[] }
      if (operations[0]?.type === 'balance' && silent.includes(auth)) return new Promise<never>(() => {})
      if (operations[0]?.type === 'balance' && !proved.has(auth)) {
        proved.add(auth)
        return acceptAll(operations)
      }
      await connected?.(operations)
      const withheld = lastCheck()
      if (withheld !== null) return { kind: 'not_sent', cause: 'withheld', message: withheld }
      const ids = operations.map(({ id }) => id)
      const bytes = Buffer.byteLength(body)
      const post = { auth, operations, ids, bytes, at: clock.monotonic(), denied: denied.has(auth) }
      posts.push(post)
      const ms = takes(post)
      if (ms > 0) await new Promise<void>(resolve => Number.isFinite(ms) && clock.after(ms, resolve))
      const answered = await answer(operations, post)
      return answered ?? (post.denied ? refusal('Access denied') : acceptAll(operations))
    },
    distrust: () => void distrusts.push(clock.monotonic()),
    close: async () => {},
  })
  return { posts, denied, distrusts, connect }
}

/** Encodes what a worker reads, and decodes what it writes. */
async function createCodec(registry: SchemaRegistry, { topics }: Settings) {
  const decoder = createDecoder<SendResult>(schemas.result, registry)
  await decoder.prepare(await registry.idOf(subjectOf(topics.results), schemas.result))
  return {
    command: await createEncoder<SendCommand>(subjectOf(topics.commands[0]!), schemas.command, registry),
    doubt: await createEncoder<Doubt>(subjectOf(topics.doubts), schemas.doubt, registry),
    status: await createEncoder<StatusEvent>(subjectOf(topics.statuses), schemas.status, registry),
    result(value: Buffer | null): SendResult {
      const decoded = decoder.decode(value)
      if (!decoded.ok) throw new Error(`a result cannot be read: ${JSON.stringify(decoded)}`)
      return decoded.value
    },
  }
}

interface Successor {
  settings: WorkerSettings
  registry: SchemaRegistry
}

interface TakeOver {
  settings?: object
  registry?: SchemaRegistry
  /** Called between the death and the take-over. */
  meanwhile?: () => void
}

/** Starts the role `worker` on an in-memory bus with a scripted gateway and a manual clock. */
export async function startSendingWorld(options: SendingOptions = {}) {
  const { hop = async () => {}, partitions = 1, registry = embeddedRegistry(), atEnd = onTestFinished } = options
  const clock = new ManualClock()
  const telemetry = new Telemetry()
  const settings = settingsOf(options)
  const { topics } = settings
  const broker = createBroker(options, settings, clock)
  for (const use of options.compacted ?? []) broker.cleanup.set(topics[use], 'compact')
  if (options.laterExpires) broker.cleanup.set(topics.later, 'compact,delete')
  const keys = new Map<string, string>()
  for (const [name, account] of settings.gateway.accounts) account.apiKey = new Secret(() => keys.get(name) ?? name)
  const { posts, denied, distrusts, connect } = createGateway(options, clock)
  const codec = await createCodec(registry, settings)
  const fatals: string[] = []
  const dead = new Set<MemoryBus>()
  const openBus = (listens = telemetry) => {
    const { groupId, drainMs, startFrom } = settings.kafka
    const bus = new MemoryBus({ broker, groupId, clock, telemetry: listens, drainMs, startFrom, hop })
    atEnd(() => bus.close())
    return bus
  }
  const join = async ({
    settings: own = settings,
    registry: asked = registry,
  }: Partial<Successor> = {}): Promise<{ sending: Sending; bus: MemoryBus }> => {
    const bus = openBus()
    const fatal = (error: Error) => {
      if (dead.has(bus)) return
      fatals.push(error.message)
      if (!options.mayEnd) throw error
    }
    const starting = startSending({
      ...{ bus, registry: asked, telemetry, clock, connection: connect(), fatal },
      settings: own,
      hookFor: () => null,
      random: () => 0.5,
    })
    const joined = starting.then(sending => sending.join())
    const [sending] = await Promise.all([starting, joined, clock.pass(1000)])
    return { bus, sending }
  }
  const { sending, bus } = await join()
  let alive = bus
  const keyOf = (id: number) => Buffer.from(String(id))
  const write = (topic: string, id: number, value: Buffer) => {
    const key = keyOf(id)
    const count = topic === topics.statuses ? broker.partitions(topic)! : partitions
    broker.append([{ topic, partition: partitionOf(key, count), key, value }], clock.now())
  }

  return {
    ...{ clock, broker, sending, bus, registry, telemetry, settings, posts, denied, distrusts, keys, fatals },
    /** Starts another process in the group, with some other topics. */
    startAnother: async (others: Partial<Settings['topics']>) =>
      (await join({ settings: { ...settings, topics: { ...topics, ...others } } })).sending,
    /** Lets another process join the group that ignores all records. */
    joinIdle() {
      const installation = installationOf(settings)
      const lanes = [topics.doubts, ...topics.commands]
      void openBus(new Telemetry()).join(lanes, new TestListener(), { installation })
    },
    /** Kills the process and lets another one take its partitions over, perhaps with other settings or another registry. */
    async takeOver({ settings: tree, meanwhile, ...successor }: TakeOver = {}) {
      dead.add(alive)
      await alive.crash()
      meanwhile?.()
      alive = (await join({ ...successor, ...(tree && { settings: settingsOf({ ...options, settings: tree }) }) })).bus
    },
    /** Stops the first process cleanly. */
    async stop() {
      await Promise.all([sending.stop(), clock.pass(10_000)])
    },
    /** Advances the time in steps, and lets promises settle between them. */
    async pass(ms: number, stepMs = 50) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        await clock.pass(stepMs)
        for (let i = 0; i < 5; i++) await settled()
      }
    },
    /** The number of envelopes of commands that contained this id. */
    postsOf: (id: number) =>
      posts.filter(({ operations }) => operations.some(one => one.id === id && one.type !== 'status')).length,
    /** The ids that the gateway accepted from an account, in order. */
    sent: (account: string) => posts.filter(post => post.auth === account && !post.denied).flatMap(({ ids }) => ids),
    /** Writes a command, by default to the least urgent topic. */
    send: (id: number, overrides: Partial<SendCommand> = {}, topic = topics.commands.at(-1)!) =>
      write(topic, id, codec.command(buildCommand({ id: BigInt(id), ...overrides }))),
    /** Writes commands to one partition. */
    put(topic: string, commands: readonly SendCommand[], partition = 0, timestamp = clock.now()) {
      const records = commands.map(command => {
        return { topic, partition, key: keyOf(Number(command.id)), value: codec.command(command) }
      })
      broker.append(records, timestamp)
    },
    /** Writes any record to a partition of the least urgent topic. */
    append: (record: Omit<OutgoingRecord, 'topic'>, timestamp = clock.now()) =>
      broker.append([{ topic: topics.commands.at(-1)!, partition: 0, ...record }], timestamp),
    encode: (overrides: Partial<SendCommand>) => codec.command(buildCommand(overrides)),
    /** Writes changes to the control topic, as an operator does. */
    control(...changes: Change[]) {
      broker.append(
        changes.map(change => ({ ...writeChange(topics.control, change), partition: 0 })),
        clock.now(),
      )
    },
    doubted(id: number, overrides: Partial<Doubt> = {}, command: Partial<SendCommand> = {}) {
      const doubt = buildDoubt({
        topic: topics.commands[0]!,
        offset: id,
        timestamp: clock.now(),
        key: keyOf(id),
        value: codec.command(buildCommand({ id: BigInt(id), ...command })),
        postedAt: clock.now(),
        ...overrides,
      })
      write(topics.doubts, id, codec.doubt(doubt))
    },
    calledBack: (id: number) =>
      write(topics.statuses, id, codec.status(buildStatusEvent({ id: BigInt(id), receivedAt: clock.now() }))),
    results: () =>
      broker
        .read({ topic: topics.results, partition: 0 }, 0, 1_000_000)
        .records.map(({ value }) => codec.result(value)),
    letters: () => broker.read({ topic: topics.deadLetters, partition: 0 }, 0, 1_000_000).records,
    /** The number of dead letters. */
    deadLetters: () => broker.end({ topic: topics.deadLetters, partition: 0 }),
    /** The sum of a gauge over all its series, or over those with one label value. */
    gauge: (name: string, label?: string) =>
      [...sending.gauges.read()]
        .filter(one => one.name === name && (label === undefined || Object.values(one.labels).includes(label)))
        .reduce((sum, { value }) => sum + value, 0),
  }
}
