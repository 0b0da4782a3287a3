import { setTimeout } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { expect, onTestFinished, test, vi } from 'vitest'
import { tokensOf } from '../../src/callbacks/role.ts'
import { loadSettings, type Settings } from '../../src/config/index.ts'
import { createWorker } from '../../src/create-worker.ts'
import { createDecoder } from '../../src/records/decoder.ts'
import type { StatusEvent } from '../../src/records/generated.ts'
import { embeddedRegistry, type SchemaRegistry } from '../../src/records/registry.ts'
import { schemas } from '../../src/records/schemas.ts'
import { hookSubject } from '../support/callbacks.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'

/** CALLBACKS_OUTAGE_SECONDS=20 makes the outage longer, and prints the figures. */
const { CALLBACKS_OUTAGE_SECONDS } = process.env
const outageMs = Number(CALLBACKS_OUTAGE_SECONDS ?? 5) * 1000
const rate = 200
/** No new callbacks are sent while this many are not answered 200, so that a busy machine can catch up. */
const mostPending = 2_000
/** What the receiver asks for with Retry-After. */
const retryMs = 5000

interface Sent {
  id: number
  /** The HTTP status of each try, or the error where there was no answer. */
  answers: (number | string)[]
  slowestMs: number
}

/** A gateway that calls back at a steady rate, and retries each callback until it is answered 200. */
function startGateway(addressOf: (id: number) => string) {
  const agent = new Agent()
  const all: Sent[] = []
  const pending = new Set<Promise<void>>()
  let stopped = false

  async function callBack(sent: Sent): Promise<void> {
    const { id } = sent
    const updated = new Date().toISOString()
    const body = JSON.stringify({ success: true, id: String(id), msg_id: `${id}7`, status: 'DELIVERED', updated })
    const url = addressOf(id)
    while (sent.answers.at(-1) !== 200) {
      if (sent.answers.length > 0) await setTimeout(retryMs)
      const begun = performance.now()
      sent.answers.push(await post(url, body))
      sent.slowestMs = Math.max(sent.slowestMs, performance.now() - begun)
    }
  }

  async function post(url: string, body: string): Promise<number | string> {
    try {
      const headers = { 'content-type': 'application/json' }
      const answer = await request(url, { method: 'POST', headers, body, dispatcher: agent })
      await answer.body.dump()
      expect(answer.headers['retry-after']).toBe(answer.statusCode === 503 ? String(retryMs / 1000) : undefined)
      return answer.statusCode
    } catch (error) {
      return String(error)
    }
  }

  async function sendAll(): Promise<void> {
    let dueAt = performance.now()
    while (!stopped) {
      for (; dueAt < performance.now(); dueAt += 1000 / rate) {
        if (pending.size >= mostPending) continue
        const sent: Sent = { id: all.length + 1, answers: [], slowestMs: 0 }
        all.push(sent)
        const calling = callBack(sent).finally(() => pending.delete(calling))
        pending.add(calling)
      }
      await setTimeout(5)
    }
  }

  const sending = sendAll()
  return {
    all,
    /** Sends no new callbacks, and resolves when each was answered 200. */
    async finish() {
      stopped = true
      await sending
      await Promise.all(pending)
      await agent.close()
    },
  }
}

/** Reads the status events with kafkajs until they are of this many messages. */
async function readStatuses(settings: Settings, registry: SchemaRegistry, messages: number): Promise<StatusEvent[]> {
  const topic = settings.topics.statuses
  const decoder = createDecoder<StatusEvent>(schemas.status, registry)
  await decoder.prepare(await registry.idOf(`${topic}-value`, schemas.status))
  const events: StatusEvent[] = []
  const consumer = plainKafka(settings.kafka.brokers as string[]).consumer({ groupId: topic, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      const decoded = decoder.decode(message.value)
      if (!decoded.ok) throw new Error('not a status event')
      events.push(decoded.value)
    },
  })
  const count = () => new Set(events.map(({ id }) => id)).size
  await vi.waitFor(() => expect(count()).toBe(messages), { timeout: 60_000, interval: 100 })
  await consumer.disconnect()
  return events
}

describeWithJava('the receiver during an outage of the broker', () => {
  const kafka = ownKafka()

  async function startReceiver(name: string) {
    const settings = loadSettings({
      env: {},
      overrides: {
        roles: ['callbacks'],
        kafka: { brokers: kafka.brokers },
        registry: { url: 'http://127.0.0.1:1' },
        topics: { statuses: `${name}-statuses`, deadLetters: `${name}-letters` },
        callbacks: { host: '127.0.0.1', port: 0, secret: 'k1:a-secret-of-the-tests' },
        telemetry: { host: '127.0.0.1', port: 0 },
      },
    })
    const registry = embeddedRegistry()
    const { statuses, deadLetters } = settings.topics
    await createTopics(
      kafka.brokers,
      [statuses, deadLetters].map(topic => ({ topic, partitions: 4 })),
    )
    const worker = await createWorker(settings, { registry })
    onTestFinished(() => worker.close())
    const tokens = tokensOf(settings)!
    const addressOf = (id: number) => {
      const subject = hookSubject({ id: BigInt(id), correlationId: `order-${id}`, tenant: null })
      return `http://127.0.0.1:${worker.ports.callbacks}/hooks/${tokens.issue({ ...subject, trace: null })}`
    }
    return { settings, registry, addressOf, ready: worker.ready }
  }

  const outages = {
    stopped: async () => {
      await kafka.stopNode()
      await setTimeout(outageMs)
      await kafka.startNode()
    },
    // Longer than a publish may take, so that the receiver gives some up that reach the topic all the same.
    frozen: async () => {
      kafka.freezeNode()
      await setTimeout(outageMs + 3000)
      kafka.thawNode()
    },
  }

  test.each(['stopped', 'frozen'] as const)(
    'loses no callback while the broker is %s: 200 means that it is on the topic, 503 that it must be retried',
    { timeout: 4 * outageMs + 90_000 },
    async kind => {
      const { settings, registry, addressOf } = await startReceiver(kind)
      const gateway = startGateway(addressOf)
      await vi.waitFor(() => expect(gateway.all.length).toBeGreaterThan(rate), 60_000)
      await outages[kind]()
      const back = gateway.all.length
      await vi.waitFor(() => expect(gateway.all.length).toBeGreaterThan(back + 2 * rate), 60_000)
      await gateway.finish()

      const answers = gateway.all.flatMap(sent => sent.answers)
      const events = await readStatuses(settings, registry, gateway.all.length)
      if (CALLBACKS_OUTAGE_SECONDS) {
        const of = (status: number) => answers.filter(answer => answer === status).length
        console.table({
          kind,
          callbacks: gateway.all.length,
          'answered 200': of(200),
          'answered 503': of(503),
          slowestMs: Math.max(...gateway.all.map(sent => sent.slowestMs)),
          'events that repeat': events.length - gateway.all.length,
        })
      }
      expect(new Set(answers)).toEqual(new Set([200, 503]))
      const first = new Map(events.toReversed().map(event => [event.id, event]))
      expect(first.size).toBe(gateway.all.length)
      for (const event of events) expect({ ...first.get(event.id), receivedAt: event.receivedAt }).toEqual(event)
    },
  )
})
