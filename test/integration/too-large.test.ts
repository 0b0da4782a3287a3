import kafkajs, { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { KafkaBus } from '../../src/bus/kafka-bus.ts'
import { systemClock } from '../../src/clock.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord, publishAll, readKeys, TestListener, until } from '../support/bus.ts'
import { buildCommand, silentPhone } from '../support/commands.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { createTopics, grant, limitMessages, plainKafka } from '../support/kafka.ts'
import { type LocalKafka, startKafka } from '../support/local-kafka/kafka.ts'
import { javaAvailable } from '../support/local-kafka/maven.ts'
import { startWorld, type World } from '../support/worker.ts'

const little = 20_000
/** The shortest session that brokers allow, and doubts that wait for no longer than it takes to lose a partition. */
const settings = {
  kafka: { sessionTimeoutMs: 6000, compression: 'none' },
  gateway: { timeoutMs: 300 },
  delivery: { settleMs: 6000, polls: 2, pollIntervalMs: 50 },
}

const commands = (from: number, to: number, overrides: Parameters<typeof buildCommand>[0] = {}) =>
  Array.from({ length: to - from + 1 }, (_, i) => buildCommand({ id: BigInt(from + i), ...overrides }))

async function expectOneFinalEach(world: World, count: number): Promise<void> {
  await world.finished(count)
  await world.quiet()
  const finals = world.results().filter(({ final }) => final)
  expect([finals.length, new Set(finals.map(({ id }) => id)).size]).toEqual([count, count])
  expect(world.sandbox.stats().billedTwice).toBe(0)
}

/** Writes as any producer with compression may: the topic's limit counts the compressed bytes. */
async function produceCompressed({ brokers }: Brokers, topic: string, message: kafkajs.Message): Promise<void> {
  const producer = plainKafka(brokers).producer()
  await producer.connect()
  await producer.send({ topic, compression: kafkajs.CompressionTypes.GZIP, messages: [message] })
  await producer.disconnect()
}

describeOnKafka('records that are larger than their topics take', brokers => {
  test('compressed garbage that inflates beyond every limit becomes a dead letter with its coordinates', async () => {
    const world = await startWorld({ brokers, settings, maxMessageBytes: { deadLetters: little } })
    const topic = world.settings.topics.commands.at(-1)!
    await world.send(commands(1, 3))
    await produceCompressed(brokers, topic, { value: 'x'.repeat(3_000_000) })
    await produceCompressed(brokers, topic, { value: 'no avro', headers: { big: 'x'.repeat(3_000_000), trace: 'abc' } })
    await world.send(commands(4, 6))
    await expectOneFinalEach(world, 6)
    expect(world.deadLetters().map(({ value }) => value)).toEqual([null, null])
    const told = world.deadLetters().map(({ headers }) => String(headers['busgate.error.message']))
    const ofValue = expect.stringMatching(/too large to be copied: its value of 3000000 bytes/)
    const ofHeaders = expect.stringMatching(/its value of 7 bytes, and its headers/)
    expect(told).toEqual(expect.arrayContaining([ofValue, ofHeaders])) // in whatever order
  })

  test('small limits of every topic change nothing for 1,000 commands but what does not fit', async () => {
    const maxMessageBytes = { results: little, statuses: little, doubts: little, deadLetters: little }
    const world = await startWorld({ brokers, settings, partitions: 2, maxMessageBytes })
    await world.send(commands(1, 998))
    await world.finished(998)
    world.sandbox.faults.next('reset-after', 2)
    const note = { note: JSON.stringify('x'.repeat(30_000)) }
    await world.send([
      buildCommand({ id: 999n, phone: silentPhone, extra: note }),
      buildCommand({ id: 1000n, phone: silentPhone, correlationId: 'x'.repeat(30_000), delivery: 'AT_MOST_ONCE' }),
    ])
    await expectOneFinalEach(world, 1000)
    const finals = world.results().filter(({ final }) => final)
    expect(finals.filter(({ outcome }) => outcome !== 'SENT')).toEqual([])
    expect(world.results().filter(({ id }) => id === 1000n)).toMatchObject([
      { outcome: 'IN_DOUBT', correlationId: null, error: expect.stringMatching(/left out or cut: correlationId/) },
      { outcome: 'SENT', correlationId: null },
    ])
    expect(world.sandbox.stats().executed).toBe(1000)
  })

  test('a limit that is lowered while the worker runs costs nothing but what does not fit any more', async () => {
    const world = await startWorld({ brokers, settings })
    const correlationId = 'x'.repeat(50_000)
    await world.send(commands(1, 5, { correlationId }))
    await world.finished(5)
    expect(world.resultOf(5).correlationId).toBe(correlationId)
    const lost: string[] = []
    world.worker.telemetry.on('session.lost', ({ topic, partition, error }) =>
      lost.push(`${topic}/${partition}: ${error.message}`),
    )
    await limitMessages(brokers.brokers, world.settings.topics.results, little)
    await world.send([...commands(6, 8, { correlationId }), ...commands(9, 10)])
    await expectOneFinalEach(world, 10)
    expect(world.results().filter(({ outcome }) => outcome === 'SENT')).toHaveLength(10)
    expect(world.resultOf(6).correlationId).toBeNull()
    expect(world.resultOf(10).error).toBeNull()
    expect(world.sandbox.stats().executed).toBe(10)
    expect(new Set(lost).size).toBe(lost.length) // each session once: they commit together
    for (const message of lost) expect(message).toMatch(/larger than the max message size/)
  })
})

const java = await javaAvailable()

describe.skipIf(!java.ok)('without the right to see what topics take', () => {
  const password = 'pw-of-nobody'
  const sasl = { mechanism: 'plain', username: 'busgate', password: () => password } as const
  let kafka: LocalKafka

  beforeAll(async () => {
    kafka = await startKafka({ users: { [sasl.username]: password } })
    const allow = (resourceType: AclResourceTypes, operation: AclOperationTypes) => ({
      ...{ principal: `User:${sasl.username}`, host: '*', permissionType: AclPermissionTypes.ALLOW },
      ...{ resourceType, operation, resourceName: 'limits', resourcePatternType: ResourcePatternTypes.PREFIXED },
    })
    await grant(kafka.brokers, [
      allow(AclResourceTypes.TOPIC, AclOperationTypes.READ),
      allow(AclResourceTypes.TOPIC, AclOperationTypes.WRITE),
      allow(AclResourceTypes.GROUP, AclOperationTypes.READ),
      allow(AclResourceTypes.TRANSACTIONAL_ID, AclOperationTypes.WRITE),
    ])
  })
  afterAll(() => kafka?.stop())

  test('less is tried after each refusal, until the partition goes on', async () => {
    await createTopics(kafka.brokers, [
      { topic: 'limits.commands', partitions: 1 },
      { topic: 'limits.results', partitions: 1 },
      { topic: 'limits.letters', partitions: 1, config: { 'max.message.bytes': String(little) } },
    ])
    const bus = new KafkaBus({
      ...{ brokers: kafka.outerBrokers, sasl, clientId: 'busgate-test', groupId: 'limits' },
      ...{ startFrom: 'earliest', onDataLoss: 'continue', compression: 'none' },
      ...{ sessionTimeoutMs: 6000, rebalanceTimeoutMs: 15_000, drainMs: 2000 },
      ...{ clock: systemClock, telemetry: new Telemetry() },
    })
    onTestFinished(() => bus.close())
    const letter = (key: string) => ({
      ...buildRecord('limits.letters', key, { value: Buffer.alloc(900_000) }),
      shorter: () => buildRecord('limits.letters', key, { value: Buffer.alloc(9000) }),
    })
    const listener = new TestListener()
    listener.onFresh = (session, records) => {
      for (const { offset, key } of records) {
        session.settle(offset, [letter(String(key)), buildRecord('limits.results', String(key))])
      }
    }
    const membership = await bus.join(['limits.commands'], listener)
    await publishAll(
      bus,
      ['a', 'b', 'c'].map(key => buildRecord('limits.commands', key)),
    )
    const results = await readKeys(bus, 'limits.results')
    const letters = await readKeys(bus, 'limits.letters')
    await until(() => expect([results.keys, letters.keys]).toEqual([Array.of('a', 'b', 'c'), Array.of('a', 'b', 'c')]))
    await results.close()
    await letters.close()
    await membership.leave()
  })
})
