import kafkajs from 'kafkajs'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { partitionOf } from '../../src/bus/murmur2.ts'
import { openBus } from '../../src/bus/open.ts'
import { loadSettings } from '../../src/config/index.ts'
import { createDecoders, type UnreadableValueError } from '../../src/consumer/index.ts'
import { createProducer } from '../../src/producer.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { until } from '../support/bus.ts'
import { type Certificates, makeCertificates } from '../support/certificates.ts'
import { describeWithJava, ownKafka } from '../support/integration.ts'
import { createTopics } from '../support/kafka.ts'
import { buildResult } from '../support/results.ts'
import { codecsOf } from '../support/wire.ts'

const [user, password] = ['shop', 'its-password']
const sms = { sms_message: 'Your order is ready', sms_signature: 'Shop' }

describeWithJava('on a Kafka with TLS and SASL', () => {
  let certificates: Certificates
  const kafka = ownKafka(async () => {
    certificates = await makeCertificates()
    return {
      users: { [user]: password },
      properties: () => ({
        'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,OUTER:SASL_SSL,CONTROLLER:PLAINTEXT',
        'super.users': `User:ANONYMOUS;User:${user}`,
        'ssl.keystore.type': 'PEM',
        'ssl.keystore.location': certificates.brokerFile,
        'ssl.truststore.type': 'PEM',
        'ssl.truststore.location': certificates.caFile,
      }),
    }
  })
  afterAll(() => certificates?.remove())

  test.each(['kafka', 'producer'] as const)('a service sends and reads with its own kafkajs %s', async option => {
    const topic = `kafkajs-${option}`
    const [commands, results] = [`${topic}-commands`, `${topic}-results`]
    await createTopics(kafka.brokers, [
      { topic: commands, partitions: 4 },
      { topic: results, partitions: 1 },
    ])
    const { ca, cert, key } = certificates
    const settings = loadSettings({
      env: {},
      overrides: {
        kafka: {
          brokers: kafka.outerBrokers,
          compression: 'gzip',
          ssl: { ca },
          sasl: { mechanism: 'plain', username: user, password },
        },
        registry: { url: 'http://127.0.0.1:1' },
        topics: { commands, results },
      },
    })
    const registry = embeddedRegistry()
    const client = new kafkajs.Kafka({
      brokers: kafka.outerBrokers,
      logLevel: kafkajs.logLevel.NOTHING,
      ssl: { ca, cert, key },
      sasl: { mechanism: 'plain', username: user, password },
    })
    const own = client.producer({ idempotent: true, maxInFlightRequests: 1 })
    await own.connect()
    onTestFinished(() => own.disconnect())
    const producer = await createProducer(settings, {
      registry,
      ...(option === 'kafka' ? { kafka: client } : { producer: own }),
    })
    const ids = Array.from({ length: 600 }, (_, i) => i + 1)
    const handles = await producer.send(
      ids.map(id => ({ id, phone: 380671234567, type: 'sms', message: sms }) as const),
    )
    const sent = Promise.all(handles.map(handle => handle.result()))
    const bus = await openBus(settings)
    onTestFinished(() => bus.close())
    const found: { partition: number; key: string; offset: number }[] = []
    const reader = await bus.read([commands], 'earliest', ({ partition }, records) => {
      for (const { key, offset } of records) found.push({ partition, key: String(key), offset })
    })
    await reader.caughtUp()
    expect(found.map(one => one.key).sort()).toEqual(ids.map(String).sort())
    expect(found.filter(one => one.partition !== partitionOf(one.key, 4))).toEqual([])
    expect([...(await codecsOf(kafka.brokers[0]!, commands))]).toContain(1)

    const encode = await createEncoder<SendResult>(subjectOf(results), schemas.result, registry)
    const resultOf = ({ key, partition, offset }: (typeof found)[number], some: Partial<SendResult>) => {
      const place = { commandTopic: commands, commandPartition: partition, commandOffset: offset }
      return { key, value: encode(buildResult({ id: BigInt(key), ...place, ...some })) }
    }
    // only a record that is known tells them apart
    const ofOthers =
      option === 'kafka' ? found.map(one => resultOf({ ...one, offset: 9e9 }, { outcome: 'EXPIRED' })) : []
    await own.send({ topic: results, messages: [...ofOthers, ...found.map(one => resultOf(one, { outcome: 'SENT' }))] })
    expect((await sent).map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(ids.map(id => `${id} SENT`))
    await producer.close()

    const result = buildResult({ id: 7n, outcome: 'SENT' })
    await own.send({ topic: results, messages: [{ value: encode(result) }, { value: 'no result' }] })
    const { decodeResult } = createDecoders(settings, { registry })
    const consumer = client.consumer({ groupId: topic })
    onTestFinished(() => consumer.disconnect())
    await consumer.connect()
    await consumer.subscribe({ topic: results, fromBeginning: true })
    const decoded: unknown[] = []
    await consumer.run({
      async eachMessage({ message }) {
        decoded.push(await decodeResult(message.value).catch((error: UnreadableValueError) => error.code))
      },
    })
    await until(() => expect(decoded.slice(-2)).toEqual([result, 'NOT_CONFLUENT']))
  })
})
