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

/** Describes a suite that needs a real Kafka and schema registry. Without them it is skipped. */
export function describeOnKafka(name: string, suite: (brokers: Brokers) => void): void {
  const brokers = inject('brokers')
  if (brokers) describe(name, () => suite(brokers))
  else describe.skip(name, () => test.todo('needs Kafka and a schema registry: see test/support/brokers.ts'))
}

export const { ok: hasJava } = await javaAvailable()

/** Describes a suite that starts its own Kafka. Without Java it is skipped. */
export const describeWithJava = describe.skipIf(!hasJava)

/** Starts a Kafka for the surrounding suite only. */
export function ownKafka(options: () => LocalKafkaOptions | Promise<LocalKafkaOptions> = () => ({})): LocalKafka {
  const kafka: Partial<LocalKafka> = {}
  beforeAll(async () => {
    Object.assign(kafka, await startKafka(await options()))
  }, 240_000)
  afterAll(() => kafka.stop?.())
  return kafka as LocalKafka
}
