import kafkajs, { type AclEntry, type Admin, Kafka, logLevel, type Producer, type ProducerConfig } from 'kafkajs'
import { expect, onTestFinished } from 'vitest'
import { createMissingTopics, type NewTopic } from '../../src/cli/kafka/create-topics.ts'
import { loadSettings } from '../../src/config/index.ts'
import { until } from './bus.ts'

/** A kafkajs client, independent of our own, to check what is on the brokers. */
export function plainKafka(brokers: string[]): Kafka {
  return new Kafka({ brokers, logLevel: logLevel.ERROR })
}

/** Opens kafkajs's admin client until the end of the test. */
export async function openAdmin(brokers: string[]): Promise<Admin> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  onTestFinished(() => admin.disconnect())
  return admin
}

/** Opens kafkajs's producer until the end of the test. */
export async function openKafkajsProducer(brokers: string[], options?: ProducerConfig): Promise<Producer> {
  const producer = plainKafka(brokers).producer(options)
  await producer.connect()
  onTestFinished(() => producer.disconnect())
  return producer
}

/** Creates topics with the cluster's own replication and waits until every partition has a leader. */
export function createTopics(brokers: readonly string[], topics: readonly NewTopic[]): Promise<void> {
  const overrides = { kafka: { brokers: [...brokers] }, registry: { url: 'http://127.0.0.1:1' } }
  return createMissingTopics(loadSettings({ env: {}, overrides }), topics)
}

/** Creates ACLs and waits until a broker lists them: it enforces new ones a while after they were created. */
export async function grant(brokers: string[], rights: AclEntry[]): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  await admin.createAcls({ acl: rights })
  for (const right of rights)
    await until(async () => expect((await admin.describeAcls(right)).resources).toHaveLength(1))
  await admin.disconnect()
}

/** Changes max.message.bytes of a topic and waits until a broker shows it. */
export function limitMessages(brokers: string[], topic: string, maxMessageBytes: number): Promise<void> {
  return configure(brokers, topic, 'max.message.bytes', String(maxMessageBytes))
}

/** Changes a setting of a topic and waits until a broker shows it. */
export async function configure(brokers: string[], topic: string, name: string, value: string): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic }
  const configEntries = [{ name, value }]
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] })
  await until(async () => {
    const configNames = [name]
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ ...resource, configNames }],
    })
    expect(resources[0]!.configEntries[0]!.configValue).toBe(value)
  })
  await admin.disconnect()
}
