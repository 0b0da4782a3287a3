import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import kafkajs, { Kafka, type Message, type Producer } from 'kafkajs'
import { openBus } from '../src/bus/open.ts'
import { UsageError } from '../src/cli/framework/command.ts'
import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../src/config/index.ts'
import { createEncoder } from '../src/records/encoder.ts'
import type { SendCommand } from '../src/records/generated.ts'
import { registryOf } from '../src/records/open.ts'
import { schemas } from '../src/records/schemas.ts'
import { Telemetry } from '../src/telemetry/events.ts'
import { buildCommand } from '../test/support/commands.ts'
import { endWithThisProcess } from '../test/support/local-kafka/child.ts'
import { freePorts } from '../test/support/local-kafka/ports.ts'
import { untilReady } from './callbacks.ts'
import { livenessMs, spawnAsCharted, watchHealth } from './limits.ts'
import { findPlace } from './place.ts'
import { cpuMicrosOf, peakMemoryMiBOf } from './processes.ts'
import { dribbledFrom, hostileSchema, type Strangers } from './strangers.ts'

/** What a producer, the registry or the gateway can do to a worker. */
interface Attack {
  /** kafkajs's number of the codec, and what becomes of the batch's packed bytes. */
  packed?: { codec: number; pack: (records: Buffer) => Buffer }
  /** The batches, one after the other. */
  batches: (encode: (id: number) => Buffer) => Message[][]
  everyMs?: number
}

const value = (schema: number, body: Buffer | number[] = []) => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(schema, 1)
  return { value: Buffer.concat([head, Buffer.from(body)]), partition: 0 }
}
const repeated = (count: number, unit: Buffer) => Buffer.alloc(count * unit.length, unit)
const skipped = Buffer.from('502a4d1800000000', 'hex')

/** Half a MB a second for 6 s. */
const flood = (codec: number, pack: (records: Buffer) => Buffer): Attack => ({
  packed: { codec, pack },
  batches: () => Array.from({ length: 12 }, () => [value(7)]),
  everyMs: 500,
})
const one = (message: Message): Attack => ({ batches: () => [[message]] })

const attacks: Record<string, Attack> = {
  nobody: { batches: () => [] },
  'schema of 2^40 values': one(value(hostileSchema.bomb, repeated(30, Buffer.from([2])))),
  'items of 5,000 fields': one(
    value(
      hostileSchema.listOfWide,
      Buffer.concat([Buffer.from([0xfe, 0xff, 0x7f]), repeated(900_000, Buffer.from([0]))]),
    ),
  ),
  'schema of 20,000 fields': one(value(hostileSchema.wide, Buffer.alloc(20_000))),
  'schema of 200,000 levels': one(value(hostileSchema.deep, [0])),
  '16,000 unknown schemas': {
    batches: () =>
      Array.from({ length: 16 }, (_, batch) =>
        Array.from({ length: 1000 }, (_, n) => value(100_000 + 1000 * batch + n, [0])),
      ),
  },
  'empty Zstd frames': flood(4, records =>
    Buffer.concat([zstdCompressSync(records), repeated(56_000, zstdCompressSync(Buffer.alloc(0)))]),
  ),
  'skippable Zstd frames': flood(4, records => Buffer.concat([zstdCompressSync(records), repeated(62_500, skipped)])),
  'empty gzip members': flood(1, records =>
    Buffer.concat([gzipSync(records), repeated(25_000, gzipSync(Buffer.alloc(0)))]),
  ),
  'a value of 60 MiB in Zstd': {
    packed: { codec: 4, pack: zstdCompressSync },
    batches: () => [[value(7, Buffer.alloc(60 << 20, 1))]],
  },
  'registry: a body without end': one(value(hostileSchema.endless, [0])),
  'registry: references without end': one(value(hostileSchema.references, [0])),
  'gateway: four answers of 4 MB in chunks of a byte': {
    batches: encode => Array.from({ length: 4 }, (_, n) => [{ value: encode(dribbledFrom + n), partition: n }]),
    everyMs: 100,
  },
}

/** What one attack came to. Times are in milliseconds, memory in MiB. */
interface Row {
  attack: string
  cpuMs: number
  before: number
  peak: number
  limit: number | null
  slowestHealth: number
  /** The longest that a command on another partition took from its append to its result. */
  slowestNeighbour: number
  /** The same of the command that stands right behind the attack, on its partition. */
  behind: number | string
  worker: string
  /** Whether the worker lives, its liveness probe passed, and every command has its result. */
  held: boolean
}

/** A worker as the chart runs it, in a process of its own with the chart's memory, beside one attack at a time. */
export async function measureHostileRecords(names: readonly string[]): Promise<Row[]> {
  const unknown = names.find(name => !attacks[name])
  if (unknown)
    throw new UsageError(`hostile-records: there is no attack ${unknown}, only ${Object.keys(attacks).join(', ')}`)
  const place = await findPlace()
  const rows: Row[] = []
  for (const name of names.length > 0 ? names : Object.keys(attacks)) {
    rows.push(await beside(name, place.brokers))
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`)
  }
  await place.stop()
  return rows
}

const honestEveryMs = 50
/** At least this long is looked at, and at most. */
const leastMs = 8_000
const mostMs = 60_000

async function beside(name: string, brokers: string[]): Promise<Row> {
  const { packed, batches, everyMs = 0 } = attacks[name]!
  const strangers = fork(new URL('strangers.ts', import.meta.url))
  const [{ gatewayUrl, registryUrl }] = (await once(strangers, 'message')) as [Strangers]
  const [telemetryPort = 0] = await freePorts(1)
  const run = `records-${Date.now().toString(36)}`
  const env = {
    BUSGATE_ROLES: 'worker',
    BUSGATE_KAFKA_BROKERS: brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: run,
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_GATEWAY_URL: gatewayUrl,
    BUSGATE_GATEWAY_API_KEY: 'a-key',
    BUSGATE_GATEWAY_BALANCE_INTERVAL_MS: '0',
    BUSGATE_TOPICS_COMMANDS: `${run}-commands`,
    BUSGATE_TOPICS_RESULTS: `${run}-results`,
    BUSGATE_TOPICS_DOUBTS: `${run}-doubts`,
    BUSGATE_TOPICS_STATUSES: `${run}-statuses`,
    BUSGATE_TOPICS_DEAD_LETTERS: `${run}-dead-letters`,
    BUSGATE_TOPICS_CONTROL: `${run}-control`,
    BUSGATE_TELEMETRY_PORT: String(telemetryPort),
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
  }
  const settings = loadSettings({ env })
  const bus = openBus(settings, new Telemetry())
  const { topics } = settings
  const topic = topics.commands[0]!
  await createMissingTopics(
    settings,
    [topic, topics.results, topics.doubts, topics.statuses, topics.deadLetters].map(name => ({
      topic: name,
      partitions: 4,
    })),
  )
  const encodeCommand = await createEncoder<SendCommand>(`${topic}-value`, schemas.command, registryOf(settings))
  const encode = (id: number) => encodeCommand(buildCommand({ id: BigInt(id) }))

  const appendedAt = new Map<number, number>()
  const took = new Map<number, number>()
  const reader = await bus.read([topics.results], 'earliest', (_from, records) => {
    for (const { key } of records) {
      const id = Number(key)
      if (!took.has(id)) took.set(id, performance.now() - (appendedAt.get(id) ?? Number.NaN))
    }
  })
  const producer = new Kafka({ brokers, logLevel: kafkajs.logLevel.ERROR }).producer()
  await producer.connect()
  const append = (id: number, partition: number) => {
    appendedAt.set(id, performance.now())
    return producer.send({ topic, messages: [{ value: encode(id), partition }] })
  }

  const { child: worker, group } = spawnAsCharted('worker', env, process.env.BENCH_LOG ? 'inherit' : 'ignore')
  endWithThisProcess(worker)
  let end: string | null = null
  worker.on('exit', (code, signal) => {
    end = `died (${signal ?? code})`
  })
  await untilReady(`http://127.0.0.1:${telemetryPort}/readyz`)
  let nextId = 1
  const honest = async () => {
    const id = nextId++
    await append(id, 1 + (id % 3))
  }
  for (let i = 0; i < 100; i++) await honest()
  while (took.size < 100) await setTimeout(10)
  took.clear()
  const firstHonest = nextId

  const before = { cpu: cpuMicrosOf([worker.pid!]), memory: memoryOf(worker.pid!) }
  let over = false
  const health = watchHealth(`http://127.0.0.1:${telemetryPort}/healthz`, () => over)
  const neighbours = (async () => {
    while (!over) {
      await honest()
      await setTimeout(honestEveryMs)
    }
  })()
  const begun = performance.now()
  const refusal = await attack(producer, topic, batches(encode), { packed, everyMs }).catch(({ message }) => message)
  const behind = 2_000_000_000
  await append(behind, 0)
  while (
    end === null &&
    (performance.now() - begun < leastMs || !took.has(behind)) &&
    performance.now() - begun < mostMs
  )
    await setTimeout(50)
  over = true
  const [slowestHealth] = await Promise.all([health, neighbours])
  const lost = () => Array.from({ length: nextId - firstHonest }, (_, i) => firstHonest + i).filter(id => !took.has(id))
  for (let i = 0; i < 100 && lost().length > 0 && end === null; i++) await setTimeout(50)
  const cpu = end === null ? cpuMicrosOf([worker.pid!]) : Number.NaN
  const allTold = end === null && lost().length === 0 && took.has(behind)
  const outcome = end ?? refusal ?? (lost().length > 0 ? `${lost().length} lost` : 'lives')
  const own = [...took].filter(([id]) => id < behind)
  const peak = group ? group.peak() / 2 ** 20 : peakMemoryMiBOf(worker.pid!)
  worker.kill()
  if (end === null) await once(worker, 'exit')
  await reader.close()
  await producer.disconnect()
  await bus.close()
  strangers.kill()
  group?.remove()
  return {
    attack: name,
    cpuMs: Math.round((cpu - before.cpu) / 1000),
    before: Math.round(before.memory),
    peak: Math.round(peak),
    limit: group && group.limit / 2 ** 20,
    slowestHealth: Math.round(slowestHealth),
    slowestNeighbour: Math.round(Math.max(...own.map(([, ms]) => ms))),
    behind: took.has(behind) ? Math.round(took.get(behind)!) : 'never',
    worker: outcome,
    held: allTold && slowestHealth < livenessMs,
  }
}

const memoryOf = peakMemoryMiBOf

/** kafkajs packs by codecs that can be replaced. */
async function attack(
  producer: Producer,
  topic: string,
  batches: Message[][],
  { packed, everyMs }: { packed: Attack['packed']; everyMs: number },
): Promise<void> {
  if (packed) {
    const { codec, pack } = packed
    Object.assign(kafkajs.CompressionCodecs, {
      [codec]: () => ({ compress: async ({ buffer }: { buffer: Buffer }) => pack(buffer) }),
    })
  }
  for (const messages of batches) {
    const begun = performance.now()
    await producer.send({ topic, messages, ...(packed && { compression: packed.codec }) })
    await setTimeout(Math.max(0, everyMs - (performance.now() - begun)))
  }
}
