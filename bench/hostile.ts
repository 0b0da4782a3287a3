import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setPriority } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import kafkajs, { Kafka, type Message } from 'kafkajs'
import { openBus } from '../src/bus/open.ts'
import { tokensOf } from '../src/callbacks/role.ts'
import { UsageError } from '../src/cli/framework/command.ts'
import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings, topicsIn } from '../src/config/index.ts'
import { createEncoder } from '../src/records/encoder.ts'
import type { SendCommand } from '../src/records/generated.ts'
import { registryOf } from '../src/records/registry.ts'
import { schemas } from '../src/records/schemas.ts'
import { Telemetry } from '../src/telemetry/events.ts'
import { startRegistry } from '../test/records/registry-server.ts'
import { buildCommand } from '../test/support/commands.ts'
import { freePorts } from '../test/support/local-kafka/ports.ts'
import { type Attack, attacks } from './attackers.ts'
import { sender, untilReady } from './callbacks.ts'
import { livenessMs, spawnAsCharted, watchHealth } from './limits.ts'
import { findPlace, type Place } from './place.ts'
import { peakMemoryMiBOf } from './processes.ts'
import { ranks } from './ranks.ts'

/** The result of one attack. */
interface Row {
  attack: string
  process: string
  peakMiB: number
  /** Null without a control group. */
  limitMiB: number | null
  slowestHealthMs: number
  /** CPU milliseconds of the longest turn of its event loop; 0: less than 10. */
  longestTurnMs: number
  /** For honest senders: times from a callback or command to its answer. */
  p99Ms: number
  maxMs: number
  unanswered: number
  /** Whether the process survived, its liveness probe passed, and every honest sender was answered. */
  held: boolean
}

/** A process under attack and its surroundings. */
interface World {
  env: NodeJS.ProcessEnv
  telemetryUrl: string
  /** Sends one valid callback or command. @returns whether it was answered */
  send(id: number): Promise<boolean>
  /** Runs an attack to its end. @returns whether what was sent after it was answered */
  attack(name: string): Promise<boolean>
  stop(): Promise<unknown>
}

const role = (name: string) => (Object.hasOwn(attacks, name) || name.endsWith('receiver') ? 'callbacks' : 'worker')
const names = ['nobody, receiver', ...Object.keys(attacks), 'nobody, worker']

/**
 * Measures a receiver or worker during one attack after the other. It runs as in the chart, in its own process with the
 * chart's memory limit. Linux only, because of control groups.
 * @param chosen names of attacks; empty: all
 */
export async function measureHostile(chosen: readonly string[]): Promise<Row[]> {
  const all = [...names, ...Object.keys(poison)]
  const unknown = chosen.find(name => !all.includes(name))
  if (unknown) throw new UsageError(`hostile: there is no attack ${unknown}, only ${all.join('; ')}`)
  const place = await findPlace()
  const rows: Row[] = []
  for (const name of chosen.length > 0 ? chosen : all) {
    rows.push(await measureAttack(name, place))
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`)
  }
  await place.stop()
  return rows
}

const sendEveryMs = 17

async function measureAttack(name: string, place: Place): Promise<Row> {
  const world = await (role(name) === 'worker' ? aroundWorker(place) : aroundReceiver(place))
  const { child, group, longestTurn } = spawnAsCharted(role(name), world.env)
  let end: string | null = null
  child.on('exit', (code, signal) => {
    end = `died (${signal ?? code})`
  })
  await untilReady(`${world.telemetryUrl}/readyz`, () => {
    if (end) throw new Error(`the process did not start: ${end}`)
  })
  while (!(await world.send(0)));
  let over = false
  const slowestHealth = watchHealth(`${world.telemetryUrl}/healthz`)
  const attackedAt = Date.now()
  const attacked = world.attack(name).finally(() => {
    over = true
  })
  const latencies: number[] = []
  const sent: Promise<boolean>[] = []
  for (let id = 1; !over && end === null; id++) {
    const begun = performance.now()
    sent.push(world.send(id).finally(() => latencies.push(performance.now() - begun)))
    await setTimeout(sendEveryMs)
  }
  const unanswered = (await Promise.all([...sent, attacked])).filter(answered => !answered).length
  const slowestHealthMs = await slowestHealth()
  const outcome = end ?? 'lives'
  const peak = group ? group.peak() / 2 ** 20 : end === null ? peakMemoryMiBOf(child.pid!) : Number.NaN
  child.kill()
  if (end === null) await once(child, 'exit')
  await world.stop()
  group?.remove()
  const { p99, max } = ranks(latencies)!
  return {
    attack: name,
    process: outcome,
    peakMiB: Math.round(peak),
    limitMiB: group && group.limit / 2 ** 20,
    slowestHealthMs: Math.round(slowestHealthMs),
    longestTurnMs: Math.round(longestTurn(attackedAt)),
    p99Ms: Math.round(p99),
    maxMs: Math.round(max),
    unanswered,
    // Holders of a valid hook address can delay others, see SECURITY.md.
    held: outcome === 'lives' && slowestHealthMs < livenessMs && (unanswered === 0 || name === 'valid callbacks'),
  }
}

const attackMs = 6_000
/** Of each topic. What an attack can fill of each is filled of all. */
const partitions = 24
const answerMs = 60_000

/** Prepares settings, topics and ports for one process. */
async function prepare(place: Place, more: Record<string, string>) {
  const [port = 0, telemetryPort = 0] = await freePorts(2)
  const run = `hostile-${Date.now().toString(36)}`
  const topics = ['COMMANDS', 'RESULTS', 'DOUBTS', 'LATER', 'STATUSES', 'DEAD_LETTERS', 'CONTROL']
  const env = {
    BUSGATE_KAFKA_BROKERS: place.brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: run,
    BUSGATE_REGISTRY_URL: place.registryUrl,
    BUSGATE_CALLBACKS_PORT: String(port),
    BUSGATE_TELEMETRY_PORT: String(telemetryPort),
    ...Object.fromEntries(topics.map(topic => [`BUSGATE_TOPICS_${topic}`, `${run}-${topic.toLowerCase()}`])),
    ...more,
  }
  const settings = loadSettings({ env })
  await createMissingTopics(
    settings,
    topicsIn(settings.topics)
      .filter(({ topic }) => topic.startsWith(run))
      .map(({ topic, use }) => ({
        ...{ topic, partitions },
        ...(use === 'later' && { config: { 'cleanup.policy': 'compact' } }),
      })),
  )
  return { env, settings, port, telemetryUrl: `http://127.0.0.1:${telemetryPort}` }
}

/** The attackers run at low priority: real ones would not use the receiver's CPU. */
async function aroundReceiver(place: Place): Promise<World> {
  const own = { BUSGATE_ROLES: 'callbacks', BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-benchmark' }
  const { env, settings, port, telemetryUrl } = await prepare(place, own)
  const tokens = tokensOf(settings)!
  const unmarked = { correlationId: null, tenant: null, campaign: null, country: 'UA', trace: null }
  const token = (id: number) => tokens.issue({ account: 'default', id: BigInt(id), type: 'sms', ...unmarked })
  const post = sender(`http://127.0.0.1:${port}`, 64, token)
  return {
    env,
    telemetryUrl,
    send: async id => (await post(id + 1)) === 200,
    async attack(name) {
      if (!Object.hasOwn(attacks, name)) return setTimeout(attackMs, true)
      const valid = `/hooks/${token(42)}`
      const attack = { kind: name, port, valid, forged: `${valid.slice(0, -2)}AA` } as Attack
      const attacker = fork(new URL('attackers.ts', import.meta.url), [JSON.stringify(attack)])
      setPriority(attacker.pid!, 15)
      await once(attacker, 'message')
      attacker.send('begin')
      await setTimeout(attackMs)
      return attacker.kill('SIGKILL')
    },
    stop: async () => {},
  }
}

/** An attack on a worker by a producer, the registry or the gateway. */
interface Poison {
  /** Batches, in order, for partition 0 unless they say otherwise; `encode` makes a valid command. */
  batches: (encode: Encode) => Message[][]
  /** Replaces Zstd for a batch. */
  pack?: (records: Buffer) => Buffer
  /** The registry's answers during the attack. */
  registry?: RequestListener
}

const many = <T>(count: number, one: (n: number) => T) => Array.from({ length: count }, (_, n) => one(n))
const repeated = (count: number, unit: Buffer) => Buffer.alloc(count * unit.length, unit)
const record = (name: string, ...types: unknown[]) =>
  JSON.stringify({ type: 'record', name, fields: types.map((type, i) => ({ name: `f${i}`, type })) })

function messageOf(schema: number, body = Buffer.alloc(35, 2)): Message {
  const start = Buffer.alloc(5)
  start.writeUInt32BE(schema, 1)
  return { value: Buffer.concat([start, body]) }
}

/** A chain of records that each contain the previous one twice: 2^levels values. */
const chain = (levels: number): string =>
  many(levels, n => n).reduce<string>(
    (inner, n) => record(`R${n}`, inner.startsWith('{') ? JSON.parse(inner) : inner, n === 0 ? 'null' : `R${n - 1}`),
    'null',
  )

/** Commands with ids from here on are answered in chunks of one byte. */
const dribbledFrom = 4_000_000_000

/** Commands that wait for their schema in all partitions, until they are all read at once. */
const late = { schema: 9002, ms: 4_000, from: 3_000_000_000 }

function lateMessage(value: Buffer, partition: number): Message {
  value.writeUInt32BE(late.schema, 1)
  return { value, partition }
}

type Encode = (id: number, more?: Partial<SendCommand>) => Buffer

const madeUpId = 1_000_000_000

/** 20,000 commands of one id in each partition, each with names of its own. */
const madeUp = (encode: Encode, notBefore: number | null) =>
  many(20 * partitions, batch =>
    many(1_000, n => {
      const name = `madeup${batch}x${n}`
      const names = { account: name, tenant: name, campaign: name, correlationId: name }
      return { value: encode(madeUpId, { ...names, notBefore }), partition: batch % partitions }
    }),
  )

const poison: Record<string, Poison> = {
  'made-up accounts': { batches: encode => madeUp(encode, null) },
  'made-up accounts, later': { batches: encode => madeUp(encode, Date.now() + 3_600_000) },
  'schema of 2^40 values': {
    batches: () => [[messageOf(9001)]],
    registry: (_, response) => void response.end(JSON.stringify({ schema: chain(40) })),
  },
  'a schema that comes late': {
    batches: encode =>
      many(16, batch => many(1_000, n => lateMessage(encode(late.from + 1_000 * batch + n), batch % partitions))),
    registry: (_, response) =>
      void setTimeout(late.ms).then(() => response.end(JSON.stringify({ schema: JSON.stringify(schemas.command) }))),
  },
  '16,000 unknown schemas': { batches: () => [many(16_000, n => messageOf(100_000 + n, Buffer.alloc(1)))] },
  'skippable Zstd frames': {
    batches: () => many(12, () => [messageOf(7)]),
    pack: records =>
      Buffer.concat([zstdCompressSync(records), repeated(62_500, Buffer.from('502a4d1800000000', 'hex'))]),
  },
  'a value of 60 MiB in Zstd': { batches: () => [[messageOf(7, Buffer.alloc(60 << 20, 1))]], pack: zstdCompressSync },
  'registry: a body without end': {
    batches: () => [[messageOf(9001)]],
    registry: (_, response) => pour(response),
  },
  'gateway: four answers of 4 MB in chunks of a byte': {
    batches: encode => many(4, n => [{ value: encode(dribbledFrom + n) }]),
  },
}

function pour(response: ServerResponse): void {
  const piece = Buffer.alloc(65_536, '[')
  const more = () => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', more)
  more()
}

async function startGateway() {
  const server = createServer(async (request, response) => {
    const { data } = JSON.parse((await request.toArray()).join('')) as { data: { id: number }[] }
    const items = data.map(({ id }) => ({ success: true, data: { id, msg_id: `7${id}`, parts: 1 } }))
    response.writeHead(200, { 'content-type': 'application/json' })
    if (!data.some(({ id }) => id >= dribbledFrom))
      return void response.end(JSON.stringify({ success: true, data: items }))
    response.flushHeaders()
    response.socket!.write('1\r\n \r\n'.repeat(4_000_000))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

async function aroundWorker(place: Place): Promise<World> {
  const [gateway, registry] = await Promise.all([startGateway(), startRegistry()])
  const { env, settings, telemetryUrl } = await prepare(place, {
    BUSGATE_ROLES: 'worker',
    BUSGATE_REGISTRY_URL: registry.url,
    BUSGATE_GATEWAY_URL: gateway.url,
    BUSGATE_GATEWAY_API_KEY: 'a-key',
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
  })
  const bus = await openBus(settings, new Telemetry())
  const topic = settings.topics.commands[0]!
  const encodeCommand = await createEncoder<SendCommand>(`${topic}-value`, schemas.command, registryOf(settings))
  const encode = (id: number, more: Partial<SendCommand> = {}) =>
    encodeCommand(buildCommand({ id: BigInt(id), ...more }))
  const waiting = new Map<number, (answered: boolean) => void>()
  const reader = await bus.read([settings.topics.results], 'earliest', (_, records) => {
    for (const { key } of records) waiting.get(Number(key))?.(true)
  })
  const producer = new Kafka({ brokers: place.brokers, logLevel: kafkajs.logLevel.ERROR }).producer()
  await producer.connect()
  const send = async (id: number, partition: number) => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    waiting.set(id, resolve)
    await producer.send({ topic, messages: [{ value: encode(id), partition }] })
    return Promise.race([promise, setTimeout(answerMs, false, { ref: false })])
  }
  return {
    env,
    telemetryUrl,
    send: id => send(id + 1, 1 + (id % 3)),
    /** Ends with the result of a command right behind the attack on its partition. */
    async attack(name) {
      const { batches, pack, registry: answers } = poison[name] ?? { batches: () => [] }
      if (answers) registry.fail(answers)
      if (pack)
        kafkajs.CompressionCodecs[4] = () => ({ compress: async ({ buffer }: { buffer: Buffer }) => pack(buffer) })
      for (const batch of batches(encode)) {
        const messages = batch.map(message => ({ partition: 0, ...message }))
        await producer.send({ topic, messages, ...(pack && { compression: 4 }) })
        if (pack) await setTimeout(500) // limits the attack to half a MB a second
      }
      const [answered] = await Promise.all([send(2_000_000_000, 0), setTimeout(attackMs)])
      return answered
    },
    async stop() {
      await Promise.all([reader.close(), producer.disconnect(), bus.close(), registry.stop()])
      gateway.server.closeAllConnections()
      gateway.server.close()
    },
  }
}
