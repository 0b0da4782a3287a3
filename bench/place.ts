import { Kafka, logLevel } from 'kafkajs'
import { UsageError } from '../src/cli/framework/command.ts'
import { startKafka } from '../test/support/local-kafka/kafka.ts'
import { javaAvailable } from '../test/support/local-kafka/maven.ts'
import { startRegistry } from '../test/support/local-kafka/registry.ts'

/** The brokers and registry of a benchmark. */
export interface Place {
  brokers: string[]
  registryUrl: string
  /** The process ids of brokers that the benchmark started. */
  brokerPids: readonly number[]
  stop(): Promise<void>
}

/**
 * The broker runs as in production, except for its memory and its compiler. A production broker has compiled its code long
 * ago; in a new one the optimising compiler would use most of a core for minutes.
 */
const jvm = ['-Xmx1g', '-XX:+UseG1GC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData']

/**
 * Uses the brokers and registry in KAFKA_BROKERS and REGISTRY_URL, or starts one of each.
 * @throws Error that says what is missing to start them
 */
export async function findPlace(): Promise<Place> {
  const { KAFKA_BROKERS, REGISTRY_URL } = process.env
  if (KAFKA_BROKERS && REGISTRY_URL) {
    const brokers = KAFKA_BROKERS.split(',')
    const before = new Set(await benchTopics(brokers))
    const stop = async () => {
      await benchTopics(brokers, topic => !before.has(topic))
    }
    return { brokers, registryUrl: REGISTRY_URL, brokerPids: [], stop }
  }
  if (KAFKA_BROKERS || REGISTRY_URL)
    throw new UsageError('KAFKA_BROKERS and REGISTRY_URL belong together: set both, or neither')
  const java = await javaAvailable()
  if (!java.ok) throw new UsageError(java.reason)
  const [kafka, registry] = await Promise.all([startKafka({ jvm }), startRegistry()])
  const stop = async () => {
    await Promise.all([kafka.stop(), registry.stop()])
  }
  return { brokers: kafka.brokers, registryUrl: registry.url, brokerPids: [kafka.pidOf()], stop }
}

/** The topics of benchmarks there. @param deletes which of them to delete */
async function benchTopics(brokers: string[], deletes: (topic: string) => boolean = () => false): Promise<string[]> {
  const admin = new Kafka({ brokers, logLevel: logLevel.ERROR }).admin()
  await admin.connect()
  try {
    const found = (await admin.listTopics()).filter(topic => topic.startsWith('bench-'))
    const topics = found.filter(deletes)
    if (topics.length > 0) await admin.deleteTopics({ topics })
    return found
  } finally {
    await admin.disconnect()
  }
}
