import { onTestFinished, vi } from 'vitest'
import { MemoryBroker } from '../../src/bus/memory/broker.ts'
import { MemoryBus } from '../../src/bus/memory/bus.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { loadSettings, type Settings } from '../../src/config/index.ts'
import { Secret } from '../../src/config/secret.ts'
import { type Sending, startSending } from '../../src/dispatch/role.ts'
import type { Answer, Connection } from '../../src/gateway/connection.ts'
import { type Change, writeChange } from '../../src/pauses/change.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendCommand, SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { TestListener } from './bus.ts'
import { ManualClock, settled } from './clock.ts'

/** A request at the scripted gateway. */
export interface Post {
  /** The account's key. */
  auth: string
  ids: number[]
  /** Monotonic milliseconds of its first byte. */
  at: number
  /** Its key is denied. */
  denied: boolean
}

export interface SendingOptions {
  /** Over the defaults of `gateway` and the accounts' keys; accounts are named like their keys. */
  gateway?: { concurrency?: number; maxOperations?: number; lingerMs?: number; tenantWeights?: Record<string, number> }
  maxAgeMs?: number
  maxIntents?: number
  /** Operations a second of accounts; undefined: no limit. Default: the accounts `default` and `other`. */
  accounts?: Record<string, number | undefined>
  /** The weights of accounts, where they are not 1. */
  weights?: Record<string, number>
  partitions?: number
  /** Milliseconds that an answer takes. Default 10; Infinity: for ever. */
  takes?: (post: Post) => number
  /** Instead of taking it; null: it is taken. */
  answers?: (post: Post) => Answer | null
  /** What stands on the control topic when the worker starts; null: there is no such topic. */
  control?: readonly OutgoingRecord[] | null
  /** Sees every step at the broker before it happens; what it answers is waited for. */
  atBroker?: (step: string) => Promise<void> | void
}

const topics = {
  commands: ['urgent', 'bulk'],
  results: 'results',
  statuses: 'statuses',
  doubts: 'doubts',
  deadLetters: 'dead-letters',
  control: 'control',
  overdue: 'overdue',
}

vi.setConfig({ testTimeout: 60_000 })

function settingsOf({
  gateway,
  maxAgeMs,
  maxIntents,
  accounts = { default: undefined, other: undefined },
  weights = {},
}: SendingOptions) {
  const keys = Object.entries(accounts).map(([name, rate]) => [
    name,
    { apiKey: name, ...(rate && { rate }), ...(weights[name] && { weight: weights[name] }) },
  ])
  const overrides = {
    kafka: { brokers: 'embedded' },
    topics,
    delivery: { ...(maxAgeMs && { maxAgeMs }), ...(maxIntents && { maxIntents }) },
    gateway: { url: 'http://127.0.0.1:1', balanceIntervalMs: 0, ...gateway, accounts: Object.fromEntries(keys) },
  }
  return loadSettings({ env: {}, overrides }) as Settings & { gateway: { url: string } }
}

/** The role `worker` in time that passes only when the test says so; its gateway takes all but what denied keys send. */
export async function buildSending(options: SendingOptions = {}) {
  const { partitions = 1, takes, answers, atBroker, control = [] } = options
  const clock = new ManualClock()
  const broker = new MemoryBroker(clock)
  for (const topic of [...Object.values(topics)].flat()) {
    if (topic !== topics.control || control) broker.createTopics([{ topic, partitions }])
  }
  broker.append(
    (control ?? []).map(record => ({ partition: 0, ...record })),
    clock.now(),
  )
  const settings = settingsOf(options)
  const keys = new Map<string, string>()
  for (const [name, account] of settings.gateway.accounts) account.apiKey = new Secret(() => keys.get(name) ?? name)
  const registry = embeddedRegistry()
  const telemetry = new Telemetry()
  const posts: Post[] = []
  const denied = new Set<string>()
  const fatals: string[] = []
  const hop = async (step: string, way: 'there' | 'back') => {
    await settled()
    if (way === 'there') await atBroker?.(step)
  }
  const { drainMs, startFrom, groupId } = settings.kafka
  const bus = new MemoryBus({ broker, groupId, clock, telemetry, drainMs, startFrom, hop })

  const connection: Connection = {
    async post(body, lastCheck) {
      const withheld = lastCheck()
      if (withheld !== null) return { kind: 'not_sent', cause: 'withheld', message: withheld }
      const { auth, data } = JSON.parse(body) as { auth: string; data: { id: number }[] }
      const post = { auth, ids: data.map(({ id }) => id), at: clock.monotonic(), denied: denied.has(auth) }
      posts.push(post)
      const ms = takes?.(post) ?? 10
      await new Promise<void>(resolve => Number.isFinite(ms) && clock.after(ms, resolve))
      const answer = answers?.(post)
      if (answer) return answer
      return post.denied ? refusal : acceptance(post.ids)
    },
    close: async () => {},
  }
  const encode = await createEncoder<SendCommand>(subjectOf('bulk'), schemas.command, registry)
  const decoder = createDecoder<SendResult>(schemas.result, registry)
  const hookFor = () => null
  const fatal = (error: Error) => fatals.push(error.message)
  let sending: Sending | null = null
  const starting = startSending({
    ...{ settings, bus, registry, telemetry, clock, connection, fatal, hookFor },
    random: () => 0.5,
  }).then(started => {
    sending = started
  })
  while (!sending) await clock.pass(10)
  await starting
  onTestFinished(() => bus.close())

  return {
    clock,
    broker,
    telemetry,
    posts,
    denied,
    /** The keys of accounts that have changed. */
    keys,
    fatals,
    sending: sending as Sending,
    /** The ids that the gateway took from an account, in order. */
    sent: (account: string) => posts.filter(post => post.auth === account && !post.denied).flatMap(({ ids }) => ids),
    put(topic: string, commands: readonly SendCommand[], partition = 0, timestamp = clock.now()) {
      const records = commands.map(command => {
        return { topic, partition, key: Buffer.from(String(command.id)), value: encode(command) }
      })
      broker.append(records, timestamp)
    },
    async results(): Promise<SendResult[]> {
      const list: SendResult[] = []
      for (let partition = 0; partition < partitions; partition++) {
        for (const { value } of broker.read({ topic: 'results', partition }, 0, 1_000_000).records) {
          let decoded = decoder.decode(value)
          if (!decoded.ok && 'pending' in decoded) await decoder.prepare(decoded.pending)
          decoded = decoder.decode(value)
          if (decoded.ok) list.push(decoded.value)
        }
      }
      return list
    },
    /** An operator pauses something, or lets it go on. */
    control(...changes: Change[]) {
      broker.append(
        changes.map(change => ({ ...writeChange(topics.control, change), partition: 0 })),
        clock.now(),
      )
    },
    gauge(name: string, label?: string): number {
      const all = [...sending!.gauges.read()].filter(gauge => gauge.name === name)
      return all.find(({ labels }) => label === undefined || Object.values(labels).includes(label))!.value
    },
    /** Another process joins the group, and does nothing with what it gets: the doubts, and every other partition. */
    joinAnother() {
      const other = new MemoryBus({ broker, groupId, clock, telemetry: new Telemetry(), drainMs, startFrom })
      onTestFinished(() => other.close())
      void other.join([topics.doubts, ...topics.commands], new TestListener())
    },
    /** Lets time pass in steps, so that what happens between them is as it would be. */
    async pass(ms: number, stepMs = 50) {
      for (let passed = 0; passed < ms; passed += stepMs) {
        await clock.pass(stepMs)
        for (let i = 0; i < 5; i++) await settled()
      }
    },
  }
}

const response = (body: object): Answer => ({
  kind: 'response',
  status: 200,
  retryAfterMs: null,
  body: JSON.stringify(body),
})

const refusal = response({ success: false, error: 'Access denied' })

const acceptance = (ids: readonly number[]) =>
  response({ success: true, data: ids.map(id => ({ success: true, data: { id, msg_id: id } })) })
