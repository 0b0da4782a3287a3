import { describe, inject, test } from 'vitest'

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
