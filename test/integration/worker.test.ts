import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import { expect, onTestFinished, test } from 'vitest'
import type { NewCommand } from '../../src/producer.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import type { Worker } from '../../src/worker.ts'
import { recordOf } from '../records/codec.ts'
import { until } from '../support/bus.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { type Brokers, describeOnKafka } from '../support/integration.ts'
import { plainKafka } from '../support/kafka.ts'
import { startWorld, type World } from '../support/worker.ts'

const marks = { correlationId: 'order-7', tenant: 'acme', campaign: 'spring' }

/** One command of each kind; its id is its place in the list of kinds, from 1. */
const oneOfEach = () =>
  sendTypes.map((type, i) => {
    const [message] = Object.values(buildCommandOf(type).message)
    return { id: i + 1, phone: 380501234567, type, message, ...marks } as NewCommand
  })

/** Reads topics as a program that knows nothing of busgate does: committed records, decoded by the registry. */
async function readPlainly({ brokers, registryUrl }: Brokers, topics: string[]) {
  const registry = new SchemaRegistry({ host: registryUrl })
  const consumer = plainKafka(brokers).consumer({ groupId: `${topics[0]}-plain`, maxWaitTimeInMs: 100 })
  const read: Record<string, { key: string | undefined; value: Record<string, unknown> }[]> = {}
  await consumer.connect()
  onTestFinished(() => consumer.disconnect())
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ topic, message }) => {
      if (message.value === null) return // the mark at the end, by which the world knows that it has read everything
      read[topic] ??= []
      read[topic].push({ key: message.key?.toString(), value: await registry.decode(message.value) })
    },
  })
  return (topic: string) => (read[topic] ?? []).toSorted((a, b) => Number(a.key) - Number(b.key))
}

function expectEachSentOnce(world: World, count: number): void {
  const outcomes = new Map<bigint, string[]>()
  for (const { id, outcome } of world.results()) outcomes.set(id, [...(outcomes.get(id) ?? []), outcome])
  expect([...outcomes].filter(([, of]) => of.join() !== 'SENT')).toEqual([])
  expect(outcomes.size).toBe(count)
  expect(world.sandbox.stats()).toMatchObject({ executed: count, billedTwice: 0 })
}

describeOnKafka('the worker on Kafka', brokers => {
  test('commands of all kinds are sent, and any Kafka client reads their results and statuses', async () => {
    const world = await startWorld({ brokers, partitions: 4 })
    const { results, statuses } = world.settings.topics
    const read = await readPlainly(brokers, [results, statuses])
    await world.producer.send(oneOfEach())
    const withStatus = sendTypes.filter(type => type !== 'call/otp' && type !== 'hlr')
    await until(() =>
      expect([read(results).length, read(statuses).length]).toEqual([sendTypes.length, withStatus.length]),
    )
    for (const [i, { key, value }] of read(results).entries()) {
      expect(key).toBe(String(i + 1))
      expect(value).toMatchObject({
        id: i + 1,
        type: sendTypes[i],
        outcome: 'SENT',
        final: true,
        attempts: 1,
        country: 'UA',
        hooked: !['pipeline', 'call/otp', 'hlr'].includes(sendTypes[i]!),
        commandAt: expect.any(Number),
        ...marks,
      })
    }
    const typeOf = (key: string | undefined) => sendTypes[Number(key) - 1]
    for (const { key, value } of read(statuses)) {
      const verified = typeOf(key) !== 'pipeline'
      expect(value).toMatchObject({ id: Number(key), status: 'DELIVERED', state: 'DELIVERED', final: true, verified })
      const { correlationId, campaign, commandType, country, eventId } = value
      expect([correlationId, campaign, commandType, country]).toEqual(
        verified ? ['order-7', 'spring', typeOf(key), 'UA'] : [null, null, null, null],
      )
      expect(eventId).toEqual(expect.any(String))
    }
    expect(read(statuses).map(({ key }) => typeOf(key))).toEqual(withStatus)
    await world.quiet()
    expectEachSentOnce(world, sendTypes.length)
  })

  test('a schema of 2^40 values, and one that the registry does not have, cost their own records alone', async () => {
    const world = await startWorld({ brokers })
    let inner: unknown = 'null'
    for (let level = 0; level < 40; level++) {
      const fields = [inner, level === 0 ? 'null' : `R${level - 1}`].map((type, n) => ({ name: `f${n}`, type }))
      inner = { type: 'record', name: `R${level}`, fields }
    }
    const bomb = { type: 'record', name: 'SendCommand', fields: [{ name: 'bomb', type: inner }] }
    const bombId = await world.registry.idOf(`${world.settings.topics.commands.at(-1)}-bomb-value`, bomb)
    await world.produceRaw(recordOf(bombId, Buffer.alloc(30)))
    await world.produceRaw(recordOf(987_654, Buffer.alloc(30)))
    await world.producer.send(oneOfEach())
    await world.finished(sendTypes.length)
    await until(() => expect(world.deadLetters()).toHaveLength(2), 30_000)
    const codes = world.deadLetters().map(({ headers }) => String(headers['busgate.error.code']))
    expect(codes.sort()).toEqual(['SCHEMA_INCOMPATIBLE', 'SCHEMA_NOT_FOUND'])
    expect((await fetch(`http://127.0.0.1:${world.worker.ports.telemetry}/readyz`)).status).toBe(200)
    await world.quiet()
  })

  test('workers come and go while 5,000 commands go through: each has one result and is billed once', async () => {
    const world = await startWorld({ brokers, partitions: 4, sandbox: { latencyMs: { min: 5, max: 50 } } })
    const sendThousand = (nth: number) =>
      world.send(Array.from({ length: 1000 }, (_, i) => buildCommand({ id: BigInt(nth * 1000 + i + 1) })))
    const consumed = [0, 0, 0]
    const count = (nth: number, worker: Worker) => {
      worker.telemetry.on('commands.consumed', event => {
        consumed[nth]! += event.count
      })
      return worker
    }
    const first = count(0, world.worker)
    await sendThousand(0)
    const [second] = await Promise.all([world.startWorker().then(worker => count(1, worker)), sendThousand(1)])
    await world.finished(1500)
    await Promise.all([first.stop(), sendThousand(2)])
    await Promise.all([world.startWorker().then(worker => count(2, worker)), sendThousand(3)])
    await world.finished(3500)
    await Promise.all([second.stop(), sendThousand(4)])
    await world.finished(5000)
    await world.quiet()
    expectEachSentOnce(world, 5000)
    for (const commands of consumed) expect(commands).toBeGreaterThan(0)
  }, 180_000)
})
