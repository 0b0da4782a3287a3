import { randomUUID } from 'node:crypto'
import { topicsNamed } from '../../src/cli/demo/stage.ts'
import type { Settings } from '../../src/config/index.ts'
import type { Brokers } from './integration.ts'
import type { World } from './worker.ts'

/** Environment variables with a unique group and unique topics. The caller adds the gateway's address. */
export function buildEnvironment(brokers: Brokers) {
  const name = `test-${randomUUID()}`
  return { ...variablesOf(brokers, name, topicsNamed(name)), BUSGATE_GATEWAY_API_KEY: 'sandbox-key' }
}

/** Environment variables that point a command line at the topics and the gateway of a world on Kafka. */
export function environmentOf({ settings: { kafka, topics, registry, gateway } }: World) {
  const brokers = { brokers: [kafka.brokers!].flat(), registryUrl: registry.url! }
  return {
    ...variablesOf(brokers, kafka.groupId, topics),
    BUSGATE_GATEWAY_URL: gateway.url!,
    BUSGATE_GATEWAY_API_KEY: gateway.accounts.get('default')!.apiKey.reveal(),
  }
}

function variablesOf({ brokers, registryUrl }: Brokers, groupId: string, topics: Settings['topics']) {
  return {
    BUSGATE_KAFKA_BROKERS: brokers.join(','),
    BUSGATE_KAFKA_GROUP_ID: groupId,
    BUSGATE_REGISTRY_URL: registryUrl,
    BUSGATE_TOPICS_COMMANDS: topics.commands.join(','),
    BUSGATE_TOPICS_RESULTS: topics.results,
    BUSGATE_TOPICS_STATUSES: topics.statuses,
    BUSGATE_TOPICS_DOUBTS: topics.doubts,
    BUSGATE_TOPICS_CONTROL: topics.control,
    BUSGATE_TOPICS_HISTORY: topics.history,
    BUSGATE_TOPICS_WORKERS: topics.workers,
    BUSGATE_TOPICS_LATER: topics.later,
    BUSGATE_TOPICS_OVERDUE: topics.overdue,
    BUSGATE_TOPICS_DEAD_LETTERS: topics.deadLetters,
  }
}
