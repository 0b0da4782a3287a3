import { Kafka, logLevel } from 'kafkajs'
import { stopIdleTimers } from '../../src/bus/kafka/internals.ts'

/** Plain kafkajs, to see from outside what is on the brokers. Only its idle timers are silenced. */
export function plainKafka(brokers: string[]): Kafka {
  stopIdleTimers()
  return new Kafka({ brokers, logLevel: logLevel.ERROR })
}

export interface TopicOptions {
  topic: string
  partitions: number
  /** Topic settings as Kafka names them, e.g. `cleanup.policy`. */
  config?: Record<string, string>
}

/** Creates topics with the cluster's own replication and waits until every partition has a leader. */
export async function createTopics(brokers: string[], topics: TopicOptions[]): Promise<void> {
  const admin = plainKafka(brokers).admin()
  await admin.connect()
  try {
    await admin.createTopics({
      topics: topics.map(({ topic, partitions, config = {} }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor: -1,
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
      })),
    })
  } finally {
    await admin.disconnect()
  }
}
