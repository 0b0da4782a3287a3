import type { Clock } from '../../clock.ts'
import { limited } from '../../clock.ts'
import { describeConfigs, resourceTypes } from './apis.ts'
import type { Brokers } from './brokers.ts'

/** A commit waits for the answer. */
const patienceMs = 3000

/** A setting of a topic by its name in Kafka, the brokers' own where it has none. @throws Error as the brokers answer */
export async function topicConfig(brokers: Brokers, topic: string, key: string): Promise<string | undefined> {
  const resource = { resourceType: resourceTypes.topic, resourceName: topic, configurationKeys: [key] }
  const { results } = await brokers.ask('any', describeConfigs, [[resource]])
  return results[0]?.configs.find(({ name }) => name === key)?.value ?? undefined
}

/** max.message.bytes of a topic. null: the right to see it is missing, or no answer came. */
export async function maxMessageBytes(brokers: Brokers, clock: Clock, topic: string): Promise<number | null> {
  try {
    const bytes = Number(await limited(clock, patienceMs, topicConfig(brokers, topic, 'max.message.bytes')))
    return bytes > 0 ? bytes : null
  } catch {
    return null
  }
}
