import { UsageError } from '../src/cli/framework/command.ts'
import { startKafka } from '../test/support/local-kafka/kafka.ts'
import { javaAvailable } from '../test/support/local-kafka/maven.ts'
import { startRegistry } from '../test/support/local-kafka/registry.ts'

/** Brokers and a registry to measure on. */
export interface Place {
  brokers: string[]
  registryUrl: string
  /** Processes of brokers that run here alone. */
  brokerPids: readonly number[]
  stop(): Promise<void>
}

/**
 * The broker runs as one of a company does, but for its size and its compiler. One that has been up for weeks has compiled
 * its code; the optimising compiler of one that has just started takes most of a core for minutes, as transactions are few.
 */
const jvm = ['-Xmx1g', '-XX:+UseG1GC', '-XX:TieredStopAtLevel=1', '-XX:-UsePerfData']

/**
 * Takes the brokers and the registry that KAFKA_BROKERS and REGISTRY_URL name, or starts one of each.
 * @throws Error that says what is missing for the latter
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
