import kafkajs, { type Admin } from 'kafkajs'
import type { Clock } from '../../clock.ts'

const name = 'max.message.bytes'
/** A commit waits for the answer. */
const patienceMs = 3000

/** max.message.bytes of a topic, the brokers' own where it has none. null: the right to see it is missing, or no answer came. */
export function maxMessageBytes(admin: () => Promise<Admin>, clock: Clock, topic: string): Promise<number | null> {
  return new Promise(resolve => {
    const cancel = clock.after(patienceMs, () => resolve(null))
    describe(admin, topic)
      .then(resolve, () => resolve(null))
      .finally(cancel)
  })
}

async function describe(admin: () => Promise<Admin>, topic: string): Promise<number | null> {
  const { describeConfigs } = await admin()
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [name] }]
  const described = await describeConfigs({ resources, includeSynonyms: false })
  const entry = described.resources[0]?.configEntries.find(({ configName }) => configName === name)
  const bytes = Number(entry?.configValue)
  return bytes > 0 ? bytes : null
}
