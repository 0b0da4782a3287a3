import { createTopicsV5 } from '@platformatic/kafka'
import { apiOf } from '../../bus/cluster/apis.ts'
import { codeNamed, protocolError } from '../../bus/cluster/errors.ts'
import type { Settings } from '../../config/index.ts'
import { safeText } from '../../telemetry/error.ts'
import { brokersOf, describe, grantingAcl, kafkaTool } from './cluster.ts'

export interface NewTopic {
  topic: string
  partitions: number
  /** Default: that of the brokers. */
  replication?: number
  /** Topic settings by Kafka's names. */
  config?: Readonly<Record<string, string>>
}

const createTopics = { ...apiOf(createTopicsV5.api), isPartial: true }
const alreadyExists = codeNamed('TOPIC_ALREADY_EXISTS')
const createWithinMs = 10_000
/** Longest wait for the leaders of new topics. */
const leadersWithinMs = 30_000
const lookAgainMs = 100

/** Creates missing topics, and waits for the leaders of all. @throws Error that says what to change */
export async function createMissingTopics(settings: Settings, topics: readonly NewTopic[]): Promise<void> {
  const brokers = brokersOf(settings, [settings.kafka.brokers ?? []].flat())
  try {
    const { controllerId } = await describe(brokers, [])
    const answer = await brokers.ask(
      { node: controllerId },
      createTopics,
      [topics.map(requested), createWithinMs, false],
      { limitMs: createWithinMs + 2_000 },
    )
    const refused = answer.topics.find(({ errorCode }) => errorCode !== 0 && errorCode !== alreadyExists)
    if (refused) {
      const { name, errorCode, errorMessage } = refused
      const { type, message } = protocolError(errorCode, errorMessage)
      throw new Error(refusalText(topics.find(({ topic }) => topic === name)!, { type, message }, settings))
    }
    const names = topics.map(({ topic }) => topic)
    await untilLed(async () => (await describe(brokers, names)).topics)
  } finally {
    await brokers.close()
  }
}

const requested = ({ topic, partitions, replication = -1, config = {} }: NewTopic) => ({
  name: topic,
  numPartitions: partitions,
  replicationFactor: replication,
  assignments: [],
  configs: Object.entries(config).map(([name, value]) => ({ name, value })),
})

type Described = Awaited<ReturnType<typeof describe>>['topics']

/** A broker may not know a new topic yet. */
async function untilLed(look: () => Promise<Described>): Promise<void> {
  for (
    const end = performance.now() + leadersWithinMs;
    ;
    await new Promise(resolve => setTimeout(resolve, lookAgainMs))
  ) {
    const unled = (await look()).find(
      ({ errorCode, partitions }) => errorCode !== 0 || partitions.some(({ leaderId }) => leaderId < 0),
    )
    if (!unled) return
    if (performance.now() > end) throw new Error(`${unled.name} has been created, but has partitions without a leader`)
  }
}

function refusalText(
  { topic, partitions, replication, config = {} }: NewTopic,
  { type, message }: { type: string; message: string },
  settings: Settings,
): string {
  const what = `${topic} cannot be created: ${safeText(message)} (${type})`
  if (type.endsWith('_AUTHORIZATION_FAILED')) return `${what}: ${grantingAcl(settings, 'Create', `--topic ${topic}`)}`
  const entries = Object.entries(config).map(([name, value]) => ` --config ${name}=${value}`)
  const replicas = replication === undefined ? '' : ` --replication-factor ${replication}`
  const args = `--create --topic ${topic} --partitions ${partitions}${replicas}${entries.join('')}`
  const tool = kafkaTool(settings, { tool: 'kafka-topics.sh', args })
  return `${what}: change --partitions or --replication, or run ${tool}`
}
