import kafkajs, { type AclEntry, Kafka, logLevel } from 'kafkajs'
import { expect } from 'vitest'
import { until } from './bus.ts'

/** Plain kafkajs, to see from outside what is on the brokers. */
export function plainKafka(brokers: string[]): Kafka {
  return new Kafka({ brokers, logLevel: logLevel.ERROR })
}

export interface TopicOptions {
  topic: string
  partitions: number
  /** Topic settings as Kafka names them, e.g. `cleanup.policy`. */
  config?: Record<string, string>
}

/**
 * Creates topics with the cluster's own replication and waits until every partition has a leader. The wait of kafkajs gives
 * up where a broker does not know a new topic yet.
 */
export async function createTopics(brokers: string[], topics: TopicOptions[]): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  try {
    await admin.createTopics({
      waitForLeaders: false,
      topics: topics.map(({ topic, partitions, config = {} }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor: -1,
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
      })),
    })
    const names = topics.map(({ topic }) => topic)
    await until(async () => {
      const { topics: found } = await admin.fetchTopicMetadata({ topics: names })
      const led = found.map(({ name, partitions }) => [name, partitions.filter(({ leader }) => leader >= 0).length])
      expect(Object.fromEntries(led)).toEqual(
        Object.fromEntries(topics.map(({ topic, partitions }) => [topic, partitions])),
      )
    })
  } finally {
    await admin.disconnect()
  }
}

/** Gives rights, and waits until a broker tells them: it heeds new ones a while after they were given. */
export async function grant(brokers: string[], rights: AclEntry[]): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  await admin.createAcls({ acl: rights })
  for (const right of rights)
    await until(async () => expect((await admin.describeAcls(right)).resources).toHaveLength(1))
  await admin.disconnect()
}

/** Changes max.message.bytes of a topic and waits until every broker tells so. */
export function limitMessages(brokers: string[], topic: string, maxMessageBytes: number): Promise<void> {
  return configure(brokers, topic, 'max.message.bytes', String(maxMessageBytes))
}

/** Changes a setting of a topic and waits until a broker tells so. */
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
