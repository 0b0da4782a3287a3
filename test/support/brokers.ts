import type { TestProject } from 'vitest/node'
import type { RunningBrokers } from './integration.ts'
import { startKafka } from './local-kafka/kafka.ts'
import { javaAvailable } from './local-kafka/maven.ts'
import { startRegistry } from './local-kafka/registry.ts'

/** Runs once before the integration tests (vitest's globalSetup); what it returns runs after them. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const running = await findBrokers()
  project.provide('brokers', running && { brokers: running.brokers, registryUrl: running.registryUrl })
  return running?.stop
}

/**
 * Takes the brokers named in the environment, else containers where an engine answers, else a local JVM's. IT_DOCKER=1 insists
 * on containers.
 */
async function findBrokers(): Promise<RunningBrokers | null> {
  const given = fromEnvironment()
  if (given) return given
  const { engineAnswers, startContainers } = await import('./docker.ts') // only here: testcontainers loads slowly
  if (process.env.IT_DOCKER === '1') return await startContainers()
  if (await engineAnswers()) {
    try {
      return await startContainers()
    } catch (error) {
      console.warn(`\n*** NO CONTAINERS: ${(error as Error).message}. Brokers of a local JVM are used. ***\n`)
    }
  }
  const java = await javaAvailable()
  if (java.ok) return await startLocally()

  const advice = `${java.reason} Or start Docker, or name a Kafka in KAFKA_BROKERS and REGISTRY_URL.`
  if (process.env.CI === 'true') throw new Error(`The integration tests find no Kafka. ${advice}`)
  console.warn(`\n*** THE INTEGRATION TESTS ARE SKIPPED: they find no Kafka. ${advice} ***\n`)
  return null
}

function fromEnvironment(): RunningBrokers | null {
  const { KAFKA_BROKERS, REGISTRY_URL } = process.env
  if (!KAFKA_BROKERS && !REGISTRY_URL) return null
  if (!KAFKA_BROKERS || !REGISTRY_URL) {
    throw new Error('Set both KAFKA_BROKERS (host:port, comma between) and REGISTRY_URL, or neither.')
  }
  return { brokers: KAFKA_BROKERS.split(','), registryUrl: REGISTRY_URL, stop: async () => {} }
}

async function startLocally(): Promise<RunningBrokers> {
  const log = (line: string) => console.log(line)
  const starting = [startKafka({ log }), startRegistry({ log })] as const
  const stop = async () => {
    for (const started of await Promise.allSettled(starting)) {
      if (started.status === 'fulfilled') await started.value.stop()
    }
  }
  try {
    const [kafka, registry] = await Promise.all(starting)
    return { brokers: kafka.brokers, registryUrl: registry.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
