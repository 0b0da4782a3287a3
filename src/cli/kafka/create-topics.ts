import kafkajs, { type KafkaConfig, type SASLOptions } from 'kafkajs'
import { securityOf } from '../../bus/cluster/connecting.ts'
import { systemClock } from '../../clock.ts'
import { type Settings, verifiedTls } from '../../config/index.ts'
import { safeText } from '../../telemetry/error.ts'
import { grantingAcl, kafkaTool } from './cluster.ts'

export interface NewTopic {
  topic: string
  partitions: number
  /** Default: that of the brokers. */
  replication?: number
  /** Topic settings by Kafka's names. */
  config?: Readonly<Record<string, string>>
}

const createWithinMs = 10_000
/** Longest wait for the leaders of new topics. */
const leadersWithinMs = 30_000
const transient = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE']

/**
 * Creates missing topics through kafkajs's Admin, and waits for the leaders of all.
 * @throws Error that says what to change
 */
export async function createMissingTopics(settings: Settings, topics: readonly NewTopic[]): Promise<void> {
  const admin = new kafkajs.Kafka(configOf(settings)).admin()
  try {
    await admin.connect()
    await admin.createTopics({
      waitForLeaders: false, // it would fail if a broker does not know a new topic yet
      timeout: createWithinMs,
      topics: topics.map(({ topic, partitions, replication = -1, config = {} }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor: replication,
        configEntries: Object.entries(config).map(([name, value]) => ({ name, value })),
      })),
    })
    const names = topics.map(({ topic }) => topic)
    await untilLed(() => admin.fetchTopicMetadata({ topics: names }))
  } catch (error) {
    throw explained(error as KafkajsError, settings, topics)
  } finally {
    await admin.disconnect().catch(() => {})
  }
}

/** Polls, because kafkajs refuses to describe a topic while a partition has no leader. */
async function untilLed(describe: () => Promise<unknown>): Promise<void> {
  for (const end = performance.now() + leadersWithinMs; ; await new Promise(resolve => setTimeout(resolve, 100))) {
    try {
      await describe()
      return
    } catch (error) {
      if (!transient.includes(typeOf(error as KafkajsError)) || performance.now() > end) throw error
    }
  }
}

function configOf({ kafka }: Settings): KafkaConfig {
  const { ssl, sasl } = securityOf(kafka, systemClock)
  return {
    clientId: kafka.clientId,
    brokers: [kafka.brokers ?? []].flat(),
    ssl: typeof ssl === 'function' ? ssl() : ssl === true && { ...verifiedTls },
    ...(sasl && { sasl: saslOf(sasl) }),
    connectionTimeout: 3_000,
    requestTimeout: createWithinMs + 2_000,
    reauthenticationThreshold: 500, // brokers refuse a second authentication within a second
    retry: { retries: 5, maxRetryTime: 2_000 },
    logLevel: kafkajs.logLevel.NOTHING, // errors are thrown
  }
}

type Sasl = NonNullable<ReturnType<typeof securityOf>['sasl']>

function saslOf(sasl: Sasl): SASLOptions {
  if (sasl.mechanism !== 'oauthbearer') return { ...sasl, password: sasl.password() } as SASLOptions
  const { mechanism, token, extensions = {} } = sasl
  return { mechanism, oauthBearerProvider: async () => ({ value: await token(), extensions }) as { value: string } }
}

/** The used fields of kafkajs errors. */
interface KafkajsError extends Error {
  /** Name of the error code in Kafka's protocol. */
  type?: string
  cause?: KafkajsError
  /** One per refused topic. */
  errors?: (KafkajsError & { topic: string })[]
}

const typeOf = ({ type, cause }: KafkajsError) => type ?? cause?.type ?? ''

function explained(error: KafkajsError, settings: Settings, topics: readonly NewTopic[]): Error {
  const refused = error.errors?.find(({ type }) => type !== 'TOPIC_ALREADY_EXISTS')
  if (refused) return new Error(refusalText(refused, settings, topics), { cause: error })
  if (typeOf(error) === 'LEADER_NOT_AVAILABLE') {
    const show = kafkaTool(settings, { tool: 'kafka-topics.sh', args: '--describe --unavailable-partitions' })
    const what = 'topics can be created only if every partition of the cluster has a leader'
    return new Error(`${what}: ${show} lists those without`, { cause: error })
  }
  const message = safeText(error.message)
  return new Error(`the brokers cannot create topics: ${message}; ${check}`, { cause: error })
}

const check = 'check kafka.brokers (host names, no IPv6 addresses), kafka.ssl and kafka.sasl; busgate doctor says more'

function refusalText(
  { type = '', message, topic }: { type?: string; message: string; topic: string },
  settings: Settings,
  topics: readonly NewTopic[],
): string {
  const what = `${topic} cannot be created: ${safeText(message)} (${type})`
  if (type.endsWith('_AUTHORIZATION_FAILED')) return `${what}: ${grantingAcl(settings, 'Create', `--topic ${topic}`)}`
  const { partitions, replication, config = {} } = topics.find(one => one.topic === topic)!
  const entries = Object.entries(config).map(([name, value]) => ` --config ${name}=${value}`)
  const replicas = replication === undefined ? '' : ` --replication-factor ${replication}`
  const args = `--create --topic ${topic} --partitions ${partitions}${replicas}${entries.join('')}`
  const tool = kafkaTool(settings, { tool: 'kafka-topics.sh', args })
  return `${what}: change --partitions or --replication; for the brokers' own message, run ${tool}`
}
