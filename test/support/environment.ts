import { randomUUID } from 'node:crypto'
import type { Brokers } from './integration.ts'

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
    BUSGATE_TOPICS_OVERDUE: `${name}.overdue`,
    BUSGATE_TOPICS_DEAD_LETTERS: `${name}.dead-letters`,
    BUSGATE_GATEWAY_API_KEY: 'sandbox-key',
  }
}
