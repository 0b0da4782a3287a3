import { randomUUID } from 'node:crypto'
import type { Brokers } from './integration.ts'
import type { World } from './worker.ts'

/** Variables of a test of its own: a group and topics that nobody else has. The gateway's address is still to be given. */
export function buildEnvironment({ brokers, registryUrl }: Brokers) {
  const name = `test-${randomUUID()}`
  return {
    BUSGATE_KAFKA_BROKERS: brokers.join(','),
    BUSGATE_KAFKA_GROUP_ID: name,
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_TOPICS_COMMANDS: `${name}.otp,${name}.commands`,
    BUSGATE_TOPICS_RESULTS: `${name}.results`,
    BUSGATE_TOPICS_STATUSES: `${name}.statuses`,
    BUSGATE_TOPICS_DOUBTS: `${name}.doubts`,
    BUSGATE_TOPICS_CONTROL: `${name}.control`,
    BUSGATE_TOPICS_OVERDUE: `${name}.overdue`,
    BUSGATE_TOPICS_DEAD_LETTERS: `${name}.dead-letters`,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
  }
}

/** Variables with which a command line finds the topics and the gateway of a world on Kafka. */
export function environmentOf({ settings: { kafka, topics, registry, gateway } }: World) {
  return {
    BUSGATE_KAFKA_BROKERS: String(kafka.brokers),
    BUSGATE_KAFKA_GROUP_ID: kafka.groupId,
    BUSGATE_REGISTRY_URL: registry.url!,
    BUSGATE_TOPICS_COMMANDS: topics.commands.join(','),
    BUSGATE_TOPICS_RESULTS: topics.results,
    BUSGATE_TOPICS_STATUSES: topics.statuses,
    BUSGATE_TOPICS_DOUBTS: topics.doubts,
    BUSGATE_TOPICS_CONTROL: topics.control,
    BUSGATE_TOPICS_OVERDUE: topics.overdue,
    BUSGATE_TOPICS_DEAD_LETTERS: topics.deadLetters,
    BUSGATE_GATEWAY_URL: gateway.url!,
    BUSGATE_GATEWAY_API_KEY: gateway.accounts.get('default')!.apiKey.reveal(),
  }
}
