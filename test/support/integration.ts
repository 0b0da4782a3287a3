import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { type LocalKafka, type LocalKafkaOptions, startKafka } from './local-kafka/kafka.ts'
import { javaAvailable } from './local-kafka/maven.ts'

/** Where the integration tests find Kafka and a schema registry. */
export interface Brokers {
  brokers: string[]
  registryUrl: string
}

export interface RunningBrokers extends Brokers {
  stop(): Promise<void>
}

declare module 'vitest' {
  export interface ProvidedContext {
    brokers: Brokers | null
  }
}

/** A suite that runs against a real Kafka and a real schema registry, and is skipped where there are none. */
export function describeOnKafka(name: string, suite: (brokers: Brokers) => void): void {
  const brokers = inject('brokers')
  if (brokers) describe(name, () => suite(brokers))
  else describe.skip(name, () => test.todo('needs Kafka and a schema registry: see test/support/brokers.ts'))
}

export const { ok: hasJava } = await javaAvailable()

/** A suite that starts a Kafka of its own, and is skipped where that cannot be. */
export const describeWithJava = describe.skipIf(!hasJava)

/** A Kafka for the tests of the surrounding suite alone. */
export function ownKafka(options: () => LocalKafkaOptions | Promise<LocalKafkaOptions> = () => ({})): LocalKafka {
  const kafka: Partial<LocalKafka> = {}
  beforeAll(async () => {
    Object.assign(kafka, await startKafka(await options()))
  }, 240_000)
  afterAll(() => kafka.stop?.())
  return kafka as LocalKafka
}
