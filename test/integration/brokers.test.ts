import { randomUUID } from 'node:crypto'
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry'
import { expect, test, vi } from 'vitest'
import { describeOnKafka } from '../support/integration.ts'
import { createTopics, plainKafka } from '../support/kafka.ts'

describeOnKafka('the brokers of the integration tests', ({ brokers, registryUrl }) => {
  test('a record that was produced is read back', async () => {
    const topic = `records-${randomUUID()}`
    await createTopics(brokers, [{ topic, partitions: 1 }])
    const kafka = plainKafka(brokers)
    const producer = kafka.producer()
    // disconnect() waits for the fetch under way.
    const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100 })
    const read: [string | undefined, string | undefined][] = []

    await Promise.all([producer.connect(), consumer.connect()])
    await producer.send({ topic, messages: [{ key: 'key', value: 'value' }] })
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message }) => void read.push([message.key?.toString(), message.value?.toString()]),
    })
    await vi.waitFor(() => expect(read).toEqual([['key', 'value']]), 20_000)
    await Promise.all([producer.disconnect(), consumer.disconnect()])
  })

  test('topics are made with their partitions and settings', async () => {
    const topic = `settings-${randomUUID()}`
    await createTopics(brokers, [{ topic, partitions: 3, config: { 'cleanup.policy': 'compact' } }])
    const admin = plainKafka(brokers).admin()
    await admin.connect()
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: 2, name: topic, configNames: ['cleanup.policy'] }],
    })
    await admin.disconnect()
    expect(topics[0]?.partitions).toHaveLength(3)
    expect(resources[0]?.configEntries[0]?.configValue).toBe('compact')
  })

  test('a schema that was registered is found again by its id', async () => {
    const schema = { type: 'record', name: 'Greeting', fields: [{ name: 'text', type: 'string' }] }
    const writer = new SchemaRegistry({ host: registryUrl })
    const { id } = await writer.register(
      { type: SchemaType.AVRO, schema: JSON.stringify(schema) },
      { subject: `greetings-${randomUUID()}-value` },
    )
    const reader = new SchemaRegistry({ host: registryUrl })
    const encoded = await writer.encode(id, { text: 'hello' })
    expect(await reader.decode(encoded)).toMatchObject({ text: 'hello' })
  })
})
