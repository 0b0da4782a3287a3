import { setTimeout } from 'node:timers/promises'
import { Pool } from 'undici'
import { openBus } from '../src/bus/open.ts'
import type { Bus } from '../src/bus/port.ts'
import { tokensOf } from '../src/callbacks/role.ts'
import { createMissingTopics } from '../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../src/config/index.ts'
import { Telemetry } from '../src/telemetry/events.ts'
import { freePorts } from '../test/support/local-kafka/ports.ts'
import type { Place } from './place.ts'
import { Processes } from './processes.ts'
import { nodeFlags, profiling } from './programs.ts'
import { type Ranks, ranks } from './ranks.ts'

export interface CallbacksOptions {
  /** Callbacks a second, sent when due even if earlier ones are unanswered. */
  rate: number
  seconds: number
  /** The sender's connections, and the maximum of callbacks in flight. */
  connections: number
  partitions: number
}

/** The figures of one run, with the receiver in its own process. */
export interface CallbackFigures {
  callbacksPerSecond: number
  /** Milliseconds from the time a callback was due to its answer. */
  dueToAnswer: Ranks
  /** User and system time of the receiver's process, without its start. */
  cpuMicrosPerCallback: number
  /** Peak resident memory since its start. */
  peakMemoryMiB: number
  answered200: number
  otherAnswers: number
  /** Callbacks that were answered 200 and are not on the topic. */
  missing: number
}

const warmUpSeconds = 3

/** Measures callbacks, each of another message, over real HTTP into a real broker. */
export async function measureCallbacks(place: Place, options: CallbacksOptions): Promise<CallbackFigures> {
  const [port = 0, telemetryPort = 0] = await freePorts(2)
  const topic = `bench-${Date.now().toString(36)}-statuses`
  const env = {
    BUSGATE_ROLES: 'callbacks',
    BUSGATE_KAFKA_BROKERS: place.brokers.join(),
    BUSGATE_REGISTRY_URL: place.registryUrl,
    BUSGATE_TOPICS_STATUSES: topic,
    BUSGATE_CALLBACKS_SECRET: 'k1:a-secret-of-the-benchmark',
    BUSGATE_CALLBACKS_PORT: String(port),
    BUSGATE_CALLBACKS_HOST: '127.0.0.1',
    BUSGATE_TELEMETRY_PORT: String(telemetryPort),
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
  }
  const settings = loadSettings({ env })
  const bus = await openBus(settings, new Telemetry())
  const topics = [
    { topic, partitions: options.partitions },
    { topic: settings.topics.deadLetters, partitions: 1 },
  ]
  await createMissingTopics(settings, topics)
  const receiver = new Processes([
    { command: process.execPath, args: [...profiling(), ...nodeFlags, 'dist/cli/bin.js', 'run'], env },
  ])
  await untilReady(`http://127.0.0.1:${telemetryPort}/readyz`, () => receiver.check())
  const tokens = tokensOf(settings)!
  const send = sender(`http://127.0.0.1:${port}`, options.connections, id =>
    tokens.issue({
      account: 'default',
      id: BigInt(id),
      type: 'sms',
      correlationId: `order-${id}`,
      tenant: 'tenant-7',
      campaign: null,
      country: 'UA',
      trace: null,
    }),
  )

  await run(options.rate, 1, warmUpSeconds, send)
  const before = receiver.cpuMicros()
  const { sent, seconds, latencies, accepted } = await run(options.rate, 1e9, options.seconds, send)
  const cpuMicros = receiver.cpuMicros() - before
  const peakMemoryMiB = receiver.peakMemoryMiB()
  await receiver.stop()
  const missing = await countMissing(bus, topic, accepted)
  await bus.close()
  return {
    callbacksPerSecond: sent / seconds,
    dueToAnswer: ranks(latencies)!,
    cpuMicrosPerCallback: cpuMicros / sent,
    peakMemoryMiB,
    answered200: accepted.size,
    otherAnswers: sent - accepted.size,
    missing,
  }
}

/** POSTs the callback of one message. Resolves with the HTTP status, or 0 without an answer. */
type Send = (id: number) => Promise<number>

export function sender(origin: string, connections: number, tokenOf: (id: number) => string): Send {
  const pool = new Pool(origin, { connections, headersTimeout: 10_000, bodyTimeout: 10_000 })
  const headers = { 'content-type': 'application/json' }
  return async id => {
    const updated = new Date().toISOString()
    const body = `{"success":true,"id":"${id}","msg_id":"${id}7","type":"sms","status":"DELIVERED","updated":"${updated}"}`
    try {
      const answer = await pool.request({ method: 'POST', path: `/hooks/${tokenOf(id)}`, headers, body })
      await answer.body.dump()
      return answer.statusCode
    } catch {
      return 0
    }
  }
}

interface Run {
  sent: number
  seconds: number
  latencies: number[]
  /** The ids whose callbacks were answered 200. */
  accepted: Set<number>
}

async function run(rate: number, firstId: number, seconds: number, send: Send): Promise<Run> {
  const latencies: number[] = []
  const accepted = new Set<number>()
  const begun = performance.now()
  const end = begun + seconds * 1000
  let id = firstId
  const one = async (due: number) => {
    const own = id++
    if ((await send(own)) === 200) accepted.add(own)
    latencies.push(performance.now() - due)
  }
  const all: Promise<void>[] = []
  for (let due = begun; due < end; due = begun + all.length * (1000 / rate)) {
    while (performance.now() < due) await setTimeout(1)
    all.push(one(due))
  }
  await Promise.all(all)
  return { sent: id - firstId, seconds: (performance.now() - begun) / 1000, latencies, accepted }
}

/** Polls until the address answers. @param check throws if it can never be ready */
export async function untilReady(url: string, check = () => {}): Promise<void> {
  for (;;) {
    check()
    const answer = await fetch(url).catch(() => null)
    await answer?.arrayBuffer()
    if (answer?.ok) return
    await setTimeout(100)
  }
}

/** Reads committed records until all are found, or none has arrived for 5 s. */
async function countMissing(bus: Bus, topic: string, wanted: Set<number>): Promise<number> {
  const found = new Set<number>()
  let lastRead = performance.now()
  const reader = await bus.read([topic], 'earliest', (_from, records) => {
    lastRead = performance.now()
    for (const { key } of records) found.add(Number(key))
  })
  const missing = () => [...wanted].filter(id => !found.has(id)).length
  while (performance.now() - lastRead < 5000 && missing() > 0) await setTimeout(100)
  await reader.close()
  return missing()
}
