import type { TestProject } from 'vitest/node'
import { javaAvailable, startKafka, startRegistry } from '../../src/cli/local-kafka/index.ts'
import type { RunningBrokers } from './integration.ts'

/** Runs once before the integration tests (vitest's globalSetup); what it returns runs after them. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const running = await findBrokers()
  project.provide('brokers', running && { brokers: running.brokers, registryUrl: running.registryUrl })
  return running?.stop
}

/** Takes the brokers named in the environment, else a local JVM's, else Docker's. IT_DOCKER=1 prefers Docker to the JVM. */
async function findBrokers(): Promise<RunningBrokers | null> {
  const given = fromEnvironment()
  if (given) return given
  if (process.env.IT_DOCKER === '1') return await (await docker()).startContainers()
  const java = await javaAvailable()
  if (java.ok) return await startLocally()
  const { dockerAnswers, startContainers } = await docker()
  if (await dockerAnswers()) return await startContainers()

  const advice = `${java.reason} Or start Docker, or name a Kafka in KAFKA_BROKERS and REGISTRY_URL.`
  if (process.env.CI === 'true') throw new Error(`The integration tests find no Kafka. ${advice}`)
  console.warn(`\n*** THE INTEGRATION TESTS ARE SKIPPED: they find no Kafka. ${advice} ***\n`)
  return null
}

/** Loaded where it is needed: testcontainers takes its time. */
const docker = () => import('./docker.ts')

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
