import { expect, onTestFinished, test } from 'vitest'
import { openBus } from '../../src/bus/open.ts'
import { type Checkpoint, unpackCheckpoint } from '../../src/bus/session/checkpoint.ts'
import { loadSettings } from '../../src/config/index.ts'
import { readStatuses } from '../../src/consumer/index.ts'
import { createWorker } from '../../src/create-worker.ts'
import { envelopeBody } from '../../src/gateway/connection.ts'
import { newestLetters } from '../../src/inspect/dead-letters/letter.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult, StatusEvent } from '../../src/records/generated.ts'
import { registryOf } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { startSandbox } from '../../src/sandbox/index.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { until } from '../support/bus.ts'
import { startBusgate } from '../support/cli.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { createTopics, openAdmin } from '../support/kafka.ts'
import { buildResult } from '../support/results.ts'

const partitions = 4

/** Whether some record was taken in and is done. */
const isDone = (checkpoint: Checkpoint | null) =>
  checkpoint !== null && (checkpoint.window.length > 0 || checkpoint.window.base > 0)

let worlds = 0

/** Creates the topics that workers and receivers write, and a gateway that knows the status of messages. */
async function startWorld(
  { brokers, registryUrl }: Brokers,
  { delayMs = 1500, expectMs = 1500, ...counts }: { overdue?: number; delayMs?: number; expectMs?: number } = {},
) {
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
    BUSGATE_RECONCILER_EXPECT_HLR: String(delayMs), // the shortest expectation is how late it reads
    BUSGATE_RECONCILER_EXPECT_MS: String(expectMs),
    BUSGATE_RECONCILER_RATE: '100',
    BUSGATE_TELEMETRY_HOST: '127.0.0.1',
    BUSGATE_TELEMETRY_PORT: '0',
  }
  const settings = loadSettings({ env })
  const { results, statuses, overdue, deadLetters } = settings.topics
  const bus = await openBus(settings, new Telemetry())
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
    topics: settings.topics,
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
      onTestFinished(() => reconciler.close())
      await until(() => expect(reconciler.ready().reasons).toEqual([]))
    },
    /** Deletes a topic and creates it again. */
    async makeAnew(use: 'results' | 'overdue') {
      const topic = settings.topics[use]
      const admin = await openAdmin(brokers)
      const idOf = async () => (await bus.lookAt(topic))?.id
      const before = await idOf()
      await admin.deleteTopics({ topics: [topic] })
      await until(async () => {
        await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] })
        expect(await idOf()).not.toBe(before)
      })
    },
    /** Waits until the reconciler has read a topic: what is no result is done at once. */
    async hasRead(use: 'results' | 'overdue') {
      const topic = settings.topics[use]
      const tps = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
      await publisher.publish(tps.map(tp => ({ ...tp, key: null, value: Buffer.from('no result') })))
      await until(async () => {
        for (const one of await bus.progress(`${name}-reconciler`, tps))
          expect(isDone(one && unpackCheckpoint(one.offset, one.metadata))).toBe(true)
      })
    },
    /** The number of records of a topic. */
    async count(use: 'overdue') {
      const admin = await openAdmin(brokers)
      const ends = await admin.fetchTopicOffsets(settings.topics[use])
      return ends.reduce((sum, { high }) => sum + Number(high), 0)
    },
    /** The topics of deleted records that dead letters tell of. */
    async lost() {
      const { newest } = await newestLetters(bus, deadLetters, { code: 'RECORDS_DELETED' }, 100)
      return new Set(newest.map(({ origin }) => origin!.topic))
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

  test.each([
    ['results', 600_000],
    ['overdue', 1500],
  ] as const)(
    'tells of messages without a verdict that were on %s when it is deleted and made anew',
    async (use, delayMs) => {
      const world = await startWorld(brokers, { delayMs, expectMs: 600_000 })
      await world.startReconciler()
      await world.send(upTo(20))
      if (use === 'overdue') await until(async () => expect(await world.count(use)).toBeGreaterThanOrEqual(20))
      await world.hasRead(use)
      await world.makeAnew(use)
      await until(async () => expect(await world.lost()).toEqual(new Set([world.topics[use]])))
    },
  )
})
