import kafkajs, { type Kafka, type SASLOptions } from 'kafkajs'
import { type OpenCluster, openCluster } from '../../bus/kafka/cluster.ts'
import { stopIdleTimers } from '../../bus/kafka/internals.ts'
import type { Settings } from '../../config/index.ts'
import { describeGroup, describeTopics, type Right, transactionBegan } from './questions.ts'
import type { Node, NodeFinder } from './wire.ts'

/** What can be asked of the brokers beside reading and writing records. Nothing is tried for longer than some seconds. */
export interface Cluster {
  nodes: readonly NodeAddress[]
  /** Connects and signs in where the node says that it listens. */
  node(id: number): Promise<Node>
  /** Every topic that is asked for, whether it exists or not. */
  topics(names: readonly string[]): Promise<Map<string, Topic>>
  /** Settings of a node; null when this account may not see them. */
  nodeConfig(id: number, names: readonly string[]): Promise<Config | null>
  /** @throws KafkaJSProtocolError when the group may not even be seen */
  groupRights(groupId: string): Promise<Set<Right>>
  /**
   * Begins a transaction of the group's offsets and aborts it: nothing is written that a reader could see.
   * @returns when it began by the coordinator's clock, and by this machine's; null when the broker does not tell
   * @throws KafkaJSProtocolError with the right that is missing
   */
  tryTransaction(transactionalId: string, groupId: string): Promise<{ theirs: number; ours: number } | null>
  /** Asks for the identity that the receiver's producer writes with. @throws KafkaJSProtocolError */
  tryIdempotence(): Promise<void>
  close(): Promise<void>
}

export interface NodeAddress {
  id: number
  host: string
  port: number
}

export interface Topic {
  /** hidden: this account may not even see whether it is there. */
  state: 'exists' | 'missing' | 'hidden'
  partitions: number
  /** Of the partition that has the fewest. */
  replicas: number
  inSync: number
  leaderless: number
  rights: ReadonlySet<Right>
  /** null: this account may not see it. */
  config: Config | null
}

/** Values by their names in Kafka, such as `retention.ms`. */
export type Config = ReadonlyMap<string, string>

const topicConfigs = ['cleanup.policy', 'min.insync.replicas', 'retention.ms', 'retention.bytes', 'max.message.bytes']
const resourceTypes = { topic: 2, broker: 4 }
const errors = { unknownTopic: 3, topicDenied: 29 }
const coordinators = { group: 0, transaction: 1 }
const transactionTimeoutMs = 10_000
/** A coordinator may be loading, or its topic may have to be made first. */
const retryMs = 200
const passing = [
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_LOAD_IN_PROGRESS',
  'CONCURRENT_TRANSACTIONS',
  'INVALID_PRODUCER_EPOCH', // somebody else tries the same
]

/** kafkajs that gives up soon and prints nothing. */
export function impatientKafka({ kafka }: Settings, brokers: readonly string[]): Kafka {
  stopIdleTimers()
  return new kafkajs.Kafka({
    clientId: kafka.clientId,
    brokers: [...brokers],
    ssl: kafka.ssl,
    ...(kafka.sasl && { sasl: { ...kafka.sasl, password: kafka.sasl.password.reveal() } as SASLOptions }),
    connectionTimeout: 2000,
    authenticationTimeout: 3000,
    requestTimeout: 4000,
    retry: { initialRetryTime: 100, retries: 1 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
}

/** @param brokers where to begin; those of the settings, or the ones that are known to answer @throws Error */
export async function connectCluster(settings: Settings, brokers: readonly string[]): Promise<Cluster> {
  const opened = await openCluster(impatientKafka(settings, brokers))
  try {
    await opened.cluster.refreshMetadata()
    return await clusterOf(opened)
  } catch (error) {
    await opened.close()
    throw error
  }
}

async function clusterOf({ cluster, close }: OpenCluster): Promise<Cluster> {
  const finder = cluster as unknown as NodeFinder
  const { seedBroker: seed } = finder.brokerPool
  const node = (id: number) => finder.findBroker({ nodeId: String(id) })

  async function coordinatorOf(name: string, coordinatorType: number): Promise<Node> {
    const { coordinator } = await seed.findGroupCoordinator({ groupId: name, coordinatorType })
    return node(coordinator.nodeId)
  }

  async function configOf(asked: Node, type: number, name: string, configNames: readonly string[]) {
    try {
      const { resources } = await asked.describeConfigs({ resources: [{ type, name, configNames }] })
      return new Map(resources[0]!.configEntries.map(entry => [entry.configName, entry.configValue ?? '']))
    } catch {
      return null
    }
  }

  return {
    nodes: (await describeTopics(seed, [])).nodes,
    node,
    async topics(names) {
      const answer = await describeTopics(seed, names)
      const described = answer.topics.map(async ({ topic, errorCode, partitions, rights }) => {
        const exists = errorCode !== errors.unknownTopic && errorCode !== errors.topicDenied
        const known: Topic = {
          state: exists ? 'exists' : errorCode === errors.topicDenied ? 'hidden' : 'missing',
          partitions: partitions.length,
          replicas: fewest(partitions.map(({ replicas }) => replicas)),
          inSync: fewest(partitions.map(({ inSync }) => inSync)),
          leaderless: partitions.filter(({ leader }) => leader < 0).length,
          rights,
          config: exists ? await configOf(seed, resourceTypes.topic, topic, topicConfigs) : null,
        }
        return [topic, known] as const
      })
      return new Map(await Promise.all(described))
    },
    nodeConfig: async (id, names) => configOf(await node(id), resourceTypes.broker, String(id), names),
    groupRights: groupId =>
      whenLoaded(async () => describeGroup(await coordinatorOf(groupId, coordinators.group), groupId)),
    tryTransaction: (transactionalId, groupId) =>
      whenLoaded(async () => {
        const coordinator = await coordinatorOf(transactionalId, coordinators.transaction)
        const producer = await coordinator.initProducerId({ transactionalId, transactionTimeout: transactionTimeoutMs })
        const before = Date.now()
        await coordinator.addOffsetsToTxn({ ...producer, transactionalId, groupId })
        const ours = (before + Date.now()) / 2
        const theirs = await transactionBegan(coordinator, transactionalId)
        await coordinator.endTxn({ ...producer, transactionalId, transactionResult: false })
        return theirs === null ? null : { theirs, ours }
      }),
    tryIdempotence: () => whenLoaded(async () => void (await seed.initProducerId({ transactionTimeout: 0 }))),
    close,
  }
}

const fewest = (counts: readonly number[]) => counts.reduce((least, count) => Math.min(least, count), counts[0] ?? 0)

/** Asks again while a coordinator is on its way; the caller's patience ends it. */
async function whenLoaded<T>(ask: () => Promise<T>, tries = 20): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const { type } = error as { type?: string }
    if (tries === 1 || !type || !passing.includes(type)) throw error
    await new Promise(resolve => setTimeout(resolve, retryMs))
    return whenLoaded(ask, tries - 1)
  }
}
