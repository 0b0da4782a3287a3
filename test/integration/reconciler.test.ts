import { expect, onTestFinished, test } from 'vitest'
import { openBus } from '../../src/bus/open.ts'
import { loadSettings } from '../../src/config/index.ts'
import { readStatuses } from '../../src/consumer/index.ts'
import { envelopeBody } from '../../src/gateway/connection.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { registryOf } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { createWorker } from '../../src/worker.ts'
import { until } from '../support/bus.ts'
import { startBusgate } from '../support/cli.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { createTopics, openAdmin } from '../support/kafka.ts'
import { buildResult } from '../support/results.ts'

const partitions = 4
let worlds = 0

/** Creates the topics that workers and receivers write, and a gateway that knows the status of messages. */
async function startWorld({ brokers, registryUrl }: Brokers, counts: { overdue?: number } = {}) {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const name = `reconciler-${process.pid}-${Date.now().toString(36)}-${++worlds}`
  const env = {
    BUSGATE_ROLES: 'reconciler',
    BUSGATE_KAFKA_BROKERS: brokers.join(),
    BUSGATE_KAFKA_GROUP_ID: name,
    BUSGATE_KAFKA_SESSION_TIMEOUT_MS: '6000',
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_TOPICS_RESULTS: `${name}-results`,
    BUSGATE_TOPICS_STATUSES: `${name}-statuses`,
    BUSGATE_TOPICS_OVERDUE: `${name}-overdue`,
    BUSGATE_TOPICS_DEAD_LETTERS: `${name}-dead-letters`,
    BUSGATE_GATEWAY_URL: sandbox.url,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
    BUSGATE_RECONCILER_DELAY_MS: '1500',
    BUSGATE_RECONCILER_EXPECT_MS: '1500',
    BUSGATE_RECONCILER_RATE: '100',
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
    BUSGATE_TELEMETRY_PORT: '0',
  }
  const settings = loadSettings({ env })
  const { results, statuses, overdue, deadLetters } = settings.topics
  const bus = openBus(settings, new Telemetry())
  onTestFinished(() => bus.close())
  await createTopics(brokers, [
    ...[results, statuses].map(topic => ({ topic, partitions })),
    { topic: overdue, partitions: counts.overdue ?? partitions },
    { topic: deadLetters, partitions: 1 },
  ])
  const registry = registryOf(settings)
  const encodeResult = await createEncoder<SendResult>(subjectOf(results), schemas.result, registry)
  const publisher = await bus.publisher()
  onTestFinished(() => publisher.close())
  const events: StatusEvent[] = []
  const reader = readStatuses(settings, { from: 'earliest' })
  const reading = (async () => {
    for await (const { value } of reader) events.push(value)
  })()
  onTestFinished(async () => {
    await reader.return!()
    await reading
  })
  const keyOf = (id: number) => Buffer.from(String(id))

  return {
    env,
    /** Sends messages to the gateway, and publishes their results. No callback comes. */
    async send(ids: readonly number[]) {
      const sms = { type: 'sms', phone: 380501234567, sms_message: 'Hello', sms_signature: 'Shop' }
      const operations = ids.map(id => JSON.stringify({ ...sms, id }))
      const url = `${sandbox.url}/api/json.php`
      await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: envelopeBody('sandbox-key', operations),
      })
      const now = Date.now()
      const result = (id: number) => buildResult({ id: BigInt(id), sentAt: now, completedAt: now })
      await publisher.publish(ids.map(id => ({ topic: results, key: keyOf(id), value: encodeResult(result(id)) })))
    },
    async startReconciler() {
      const reconciler = await createWorker(settings)
      onTestFinished(() => reconciler.stop())
      await until(() => expect(reconciler.ready().reasons).toEqual([]))
    },
    /** The id of each verdict that the reconciler has published. */
    polled: () => events.filter(({ source, final }) => source === 'POLL' && final).map(({ id }) => Number(id)),
  }
}

const upTo = (count: number, from = 1) => Array.from({ length: count }, (_, i) => from + i)

describeOnKafka('the reconciler on Kafka', brokers => {
  test('continues where another one was killed', async () => {
    const world = await startWorld(brokers)
    const killed = startBusgate(['run'], { env: world.env })
    await killed.line('worker.started')
    await world.startReconciler()
    await world.send(upTo(100))
    await until(() => expect(world.polled().length).toBeGreaterThan(0))
    killed.signal('SIGKILL')
    await world.send(upTo(50, 101))
    await until(() => expect(new Set(world.polled()).size).toBe(150))
    expect(world.polled().toSorted((a, b) => a - b)).toEqual(upTo(150))
  })

  test('polls for each message once although partitions are added to one topic after the other', async () => {
    const world = await startWorld(brokers, { overdue: 3 })
    const admin = await openAdmin(brokers.brokers)
    const grow = (topic: string, count: number) => admin.createPartitions({ topicPartitions: [{ topic, count }] })
    await world.startReconciler()
    await world.send(upTo(50))
    await grow(world.env.BUSGATE_TOPICS_STATUSES!, 7)
    await world.send(upTo(50, 51))
    await grow(world.env.BUSGATE_TOPICS_RESULTS!, 12)
    await world.send(upTo(50, 101))
    await until(() => expect(new Set(world.polled()).size).toBe(150))
    expect(world.polled().toSorted((a, b) => a - b)).toEqual(upTo(150))
  })
})
