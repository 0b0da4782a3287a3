import { join } from 'node:path'
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import { expect, test } from 'vitest'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { until } from '../support/bus.ts'
import { commandsOf, languages, outputOf, placesOf, prepare, runLine } from '../support/example-programs.ts'
import { describeOnKafka } from '../support/integration.ts'
import { plainKafka } from '../support/kafka.ts'
import { buildResult } from '../support/results.ts'
import { startWorld, type World } from '../support/worker.ts'

/** Fetching and building for the first time takes a minute. */
const patience = { timeout: 240_000 }

const sms = { sms_message: 'Your order is ready', sms_signature: 'Shop' }
const order = (id: number) => ({ id, phone: 380671234567, type: 'sms', message: sms }) as const
const refused = buildResult({ outcome: 'REJECTED', errorCode: 'SENDER_INVALID', msgId: null })

/** Sends what stands on standard input, with the settings of the example and without them. */
const strictly = "python3 -c 'import json, sys, send; [send.send(json.loads(line)) for line in sys.stdin]'"
const careless = `python3 ${join(import.meta.dirname, '../support/careless.py')}`

/** A command of each message, as JSON lines. */
const linesOf = (messages: unknown[], firstId = 1) =>
  messages.map((message, i) => `${JSON.stringify({ id: firstId + i, phone: 380671234567, message })}\n`).join('')

describeOnKafka('producers in other languages', brokers => {
  const kafka = plainKafka(brokers.brokers)

  /** A producer whose transaction has begun, with one result in it. */
  async function transactionWith(world: World, result: SendResult) {
    const topic = world.settings.topics.results
    const encode = await createEncoder<SendResult>(subjectOf(topic), schemas.result, world.registry)
    const transactionalId = `${topic}-${result.outcome}-${result.completedAt}`
    const producer = kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const transaction = await producer.transaction()
    await transaction.send({ topic, messages: [{ key: String(result.id), value: encode(result), partition: 0 }] })
    return {
      async abort() {
        await transaction.abort()
        await producer.disconnect()
      },
    }
  }

  test.for(languages)(
    '%s: its command has one result; nothing aborted is read; the same id from busgate is a DUPLICATE',
    patience,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers, partitions: 4 })
      await (await transactionWith(world, refused)).abort()

      Object.assign(env, placesOf(brokers, world.settings))
      const printed = await outputOf(language, commandsOf(language).at(-1)!, { env })
      const [first] = await world.finished(1)
      expect(first).toMatchObject({ id: 1001n, outcome: 'SENT', correlationId: `example-${language}` })
      expect(printed.stdout.replaceAll(/ +/g, ' ')).toBe(`1001 SENT ${first!.msgId}\n`)
      expect(printed.stderr).not.toContain('SLF4J')

      await world.producer.send([order(1001)])
      await world.finished(2)
      await world.quiet()
      const [, second, ...more] = world.results()
      expect(second).toMatchObject({ outcome: 'DUPLICATE', commandPartition: first!.commandPartition })
      expect(more).toEqual([])
      expect(world.sandbox.executions(1001)).toBe(1)
    },
  )

  test.for(languages)(
    '%s: a phone in national format is refused before anything is sent',
    patience,
    async (language, context) => {
      const env = await prepare(language, context)
      const world = await startWorld({ brokers })
      Object.assign(env, placesOf(brokers, world.settings))
      const national = commandsOf(language).at(-1)!.replace('380671234567', '0671234567')
      const refusal = 'Nothing was sent: PHONE must be digits only, in international format such as 380671234567.'
      await expect(outputOf(language, national, { env })).rejects.toMatchObject({
        stderr: expect.stringContaining(refusal),
      })
      await world.quiet()
      expect(world.results()).toEqual([])
    },
  )

  test(
    'fastavro chooses a record for an untagged message: a typing error becomes viber+sms, a comment a billed call',
    patience,
    async context => {
      const env = await prepare('python', context)
      const world = await startWorld({ brokers })
      Object.assign(env, placesOf(brokers, world.settings))
      const mistyped = { sms_mesage: 'Your order is ready', sms_signature: 'Shop' }
      const untagged = [mistyped, { comment: null }, {}, { message: '123456' }]
      await runLine('python', careless, { env, input: linesOf(untagged) })
      await world.finished(4)
      expect(world.resultOf(1)).toMatchObject({ type: 'viber+sms', outcome: 'INVALID', final: true })
      expect(world.resultOf(2)).toMatchObject({ type: 'call/otp', outcome: 'SENT', price: expect.any(Number) })
      expect(world.resultOf(3)).toMatchObject({ type: 'viber+sms', outcome: 'INVALID', final: true })
      expect(world.resultOf(4)).toMatchObject({ type: 'telegram', outcome: 'SENT' })

      // The example's settings refuse the typing error, and cannot see that no call was meant.
      const careful = runLine('python', strictly, { env, input: linesOf([{ comment: null }, mistyped], 5) })
      await expect(careful).rejects.toThrow('record contains more fields than the schema specifies: sms_mesage')
      await world.finished(5)
      expect(world.resultOf(5)).toMatchObject({ type: 'call/otp', outcome: 'SENT' })
    },
  )

  test(
    "librdkafka's own partitioner puts an id on another partition, where it is no DUPLICATE and is sent again",
    patience,
    async context => {
      const env = await prepare('python', context)
      const world = await startWorld({ brokers, partitions: 4 })
      const ids = Array.from({ length: 20 }, (_, i) => i + 1)
      await world.producer.send(ids.map(order))
      Object.assign(env, placesOf(brokers, world.settings))
      await runLine('python', careless, { env, input: linesOf(ids.map(() => ({ '-type': 'io.busgate.Sms', ...sms }))) })
      await world.finished(2 * ids.length)
      const apart = ids.filter(id => {
        const partitions = world.results().flatMap(of => (of.id === BigInt(id) ? of.commandPartition : []))
        return partitions[0] !== partitions[1]
      })
      expect(apart.length).toBeGreaterThan(0)
      expect(ids.filter(id => world.sandbox.executions(id) === 2)).toEqual(apart)
    },
  )

  test('kafkajs shows what was aborted where one transaction was aborted inside another; busgate/consumer does not', async () => {
    const world = await startWorld({ brokers })
    const outer = await transactionWith(world, refused)
    const inner = await transactionWith(world, { ...refused, completedAt: 1 })
    await inner.abort()
    await outer.abort()
    await world.send([])
    const registry = new SchemaRegistry({ host: brokers.registryUrl })
    const groupId = `${world.settings.kafka.groupId}-kafkajs`
    const consumer = kafka.consumer({ groupId, readUncommitted: false, maxWaitTimeInMs: 100 })
    const seen: unknown[] = []
    await consumer.connect()
    await consumer.subscribe({ topic: world.settings.topics.results, fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(await registry.decode(message.value!)) })
    await until(() => expect(seen).toEqual([expect.objectContaining({ outcome: 'REJECTED' })]))
    await consumer.disconnect()
    await world.quiet()
    expect(world.results()).toEqual([])
  })
})
