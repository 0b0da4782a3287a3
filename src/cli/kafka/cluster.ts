import { securityOf } from '../../bus/kafka/security.ts'
import { type DescribeConfigsRequest, describeConfigs } from '../../bus/wire/admin-apis.ts'
import { type Api, Brokers, type Target } from '../../bus/wire/brokers.ts'
import { type ClusterMetadata, metadata, type NodeAddress, type TopicMetadata } from '../../bus/wire/cluster-apis.ts'
import { describeGroup } from '../../bus/wire/group-apis.ts'
import { addOffsetsToTxn, endTxn, initProducerId } from '../../bus/wire/transaction-apis.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import { Telemetry } from '../../telemetry/events.ts'
import { describeTransaction, type Right, rightsIn } from './questions.ts'

/**
 * Cluster is what can be asked of the brokers beside reading and writing records. Nothing is tried for longer than some
 * seconds.
 */
export interface Cluster {
  nodes: readonly NodeAddress[]
  /** The names of those that a node, where it says that it listens, does not understand in any version that busgate speaks. */
  unspoken(id: number, apis: readonly Spoken[]): Promise<string[]>
  /** Every topic that is asked for, whether it exists or not. */
  topics(names: readonly string[]): Promise<Map<string, Topic>>
  /** Settings of a node; null when this account may not see them. */
  nodeConfig(id: number, names: readonly string[]): Promise<Config | null>
  /** @throws ProtocolError when the group may not even be seen */
  groupRights(groupId: string): Promise<Set<Right>>
  /**
   * Begins a transaction of the group's offsets and aborts it: nothing is written that a reader could see.
   * @returns when it began by the coordinator's clock, and by this machine's; null when the broker does not tell
   * @throws ProtocolError with the right that is missing
   */
  tryTransaction(transactionalId: string, groupId: string): Promise<{ theirs: number; ours: number } | null>
  /** Asks for the identity that the receiver's producer writes with. @throws ProtocolError */
  tryIdempotence(): Promise<void>
  close(): Promise<void>
}

/** A kind of request, in the versions that busgate speaks. */
export type Spoken = Pick<Api<never, unknown>, 'name' | 'key' | 'versions'>

export interface Topic {
  /** hidden: this account may not even see whether it is there. */
  state: 'exists' | 'missing' | 'hidden'
  partitions: number
  /** How many replicas the partition has that has the fewest. */
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
const errors = { unknownTopic: 3, topicDenied: 29 }
const transactionTimeoutMs = 10_000
const noTransactions = { transactionalId: null, transactionTimeoutMs, from: null }
const limitMs = 4_000
/** The first version that tells the rights. */
const tellsRights = 8
/** A coordinator may be loading, or its topic may have to be made first. */
const retryMs = 200
const passing = [
  'COORDINATOR_NOT_AVAILABLE',
  'NOT_COORDINATOR',
  'COORDINATOR_LOAD_IN_PROGRESS',
  'CONCURRENT_TRANSACTIONS',
  'INVALID_PRODUCER_EPOCH', // somebody else tries the same
]

/** @param seeds where to begin; those of the settings, or the ones that are known to answer @throws Error */
export async function connectCluster({ kafka }: Settings, seeds: readonly string[]): Promise<Cluster> {
  const { clientId } = kafka
  const telemetry = new Telemetry()
  const brokers = new Brokers({ ...securityOf(kafka, systemClock), clientId, seeds, clock: systemClock, telemetry })
  try {
    if ((await brokers.speaks('any', metadata.key)) < tellsRights) {
      throw new Error('the brokers are older than Apache Kafka 2.3')
    }
    return clusterOf(brokers, await describe(brokers, []))
  } catch (error) {
    await brokers.close()
    throw error
  }
}

function describe(brokers: Brokers, topics: readonly string[]): Promise<ClusterMetadata> {
  return brokers.ask('any', metadata, { topics, rights: true }, { limitMs })
}

function clusterOf(brokers: Brokers, { nodes }: ClusterMetadata): Cluster {
  const ask = <Q, A>(target: Target, api: Api<Q, A>, request: Q) => brokers.ask(target, api, request, { limitMs })

  async function configOf(target: Target, request: DescribeConfigsRequest): Promise<Config | null> {
    const answer = await ask(target, describeConfigs, request).catch(() => null)
    return answer?.values ?? null
  }

  async function topicOf({ topic, errorCode, partitions, operations }: TopicMetadata): Promise<Topic> {
    const exists = errorCode !== errors.unknownTopic && errorCode !== errors.topicDenied
    return {
      state: exists ? 'exists' : errorCode === errors.topicDenied ? 'hidden' : 'missing',
      partitions: partitions.length,
      replicas: fewest(partitions.map(({ replicas }) => replicas.length)),
      inSync: fewest(partitions.map(({ inSync }) => inSync.length)),
      leaderless: partitions.filter(({ leader }) => leader < 0).length,
      rights: rightsIn(operations),
      config: exists ? await configOf('any', { type: 'topic', name: topic, keys: topicConfigs }) : null,
    }
  }

  async function tryTransaction(id: string, groupId: string) {
    const target = { transaction: id }
    const producer = await ask(target, initProducerId, { transactionalId: id, transactionTimeoutMs, from: null })
    const owned = { ...producer, transactionalId: id }
    const before = Date.now()
    await ask(target, addOffsetsToTxn, { ...owned, groupId })
    const ours = (before + Date.now()) / 2
    const isTold = (await brokers.speaks(target, describeTransaction.key)) >= 0
    const theirs = isTold ? (await ask(target, describeTransaction, { id })).began : null
    await ask(target, endTxn, { ...owned, committed: false })
    return theirs === null ? null : { theirs, ours }
  }

  return {
    nodes,
    async unspoken(id, apis) {
      const understood = await Promise.all(apis.map(api => brokers.understands({ node: id }, api)))
      return apis.filter((_, i) => !understood[i]).map(({ name }) => name)
    },
    async topics(names) {
      const { topics } = await describe(brokers, names)
      return new Map(await Promise.all(topics.map(async one => [one.topic, await topicOf(one)] as const)))
    },
    nodeConfig: (id, keys) => configOf({ node: id }, { type: 'broker', name: String(id), keys }),
    groupRights: groupId =>
      whenLoaded(async () => rightsIn((await ask({ group: groupId }, describeGroup, { groupId })).operations)),
    tryTransaction: (id, groupId) => whenLoaded(() => tryTransaction(id, groupId)),
    tryIdempotence: () => whenLoaded(async () => void (await ask('any', initProducerId, noTransactions))),
    close: () => brokers.close(),
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
