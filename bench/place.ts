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
    return { brokers: KAFKA_BROKERS.split(','), registryUrl: REGISTRY_URL, brokerPids: [], stop: async () => {} }
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
