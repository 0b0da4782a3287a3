import {
  type Api,
  addOffsetsToTxn,
  describeConfigs,
  describeGroups,
  endTxn,
  initProducerId,
  metadata,
  resourceTypes,
} from '../../bus/cluster/apis.ts'
import { Brokers, type Target } from '../../bus/cluster/brokers.ts'
import type { ClusterMetadata, TopicMetadata } from '../../bus/cluster/cluster-view.ts'
import { type Address, securityOf } from '../../bus/cluster/connecting.ts'
import { isTransient, ProtocolError } from '../../bus/cluster/errors.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import { Telemetry } from '../../telemetry/events.ts'

/**
 * Cluster is what can be asked of the brokers beside reading and writing records. Nothing is tried for longer than some
 * seconds.
 */
export interface Cluster {
  nodes: readonly (Address & { id: number })[]
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
   * @throws ProtocolError with the right that is missing
   */
  tryTransaction(transactionalId: string, groupId: string): Promise<void>
  close(): Promise<void>
}

/** A kind of request, in the versions that busgate speaks. */
export type Spoken = Pick<Api<never[], unknown>, 'name' | 'key'> & { versions: readonly { version: number }[] }

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
const limitMs = 4_000
/** A coordinator may be loading, or its topic may have to be made first. */
const retryMs = 200

/** @param seeds where to begin; those of the settings, or the ones that are known to answer @throws Error */
export async function connectCluster({ kafka }: Settings, seeds: readonly string[]): Promise<Cluster> {
  const { clientId } = kafka
  const telemetry = new Telemetry()
  const brokers = new Brokers({ ...securityOf(kafka, systemClock), clientId, seeds, clock: systemClock, telemetry })
  try {
    return clusterOf(brokers, await describe(brokers, []))
  } catch (error) {
    await brokers.close()
    throw error
  }
}

function describe(brokers: Brokers, topics: readonly string[]): Promise<ClusterMetadata> {
  return brokers.ask('any', metadata, [[...topics], false, true], { limitMs })
}

function clusterOf(brokers: Brokers, { brokers: nodes }: ClusterMetadata): Cluster {
  const ask = <Q extends unknown[], A>(target: Target, api: Api<Q, A>, request: Q) =>
    brokers.ask(target, api, request, { limitMs })

  async function configOf(
    target: Target,
    type: keyof typeof resourceTypes,
    name: string,
    keys: readonly string[],
  ): Promise<Config | null> {
    const resource = { resourceType: resourceTypes[type], resourceName: name, configurationKeys: [...keys] }
    const answer = await ask(target, describeConfigs, [[resource]]).catch(() => null)
    return answer && new Map(answer.results[0]!.configs.map(({ name, value }) => [name, value ?? '']))
  }

  async function topicOf({ name, errorCode, partitions, ...topic }: TopicMetadata): Promise<Topic> {
    const exists = errorCode !== errors.unknownTopic && errorCode !== errors.topicDenied
    return {
      state: exists ? 'exists' : errorCode === errors.topicDenied ? 'hidden' : 'missing',
      partitions: partitions.length,
      replicas: fewest(partitions.map(({ replicaNodes }) => replicaNodes.length)),
      inSync: fewest(partitions.map(({ isrNodes }) => isrNodes.length)),
      leaderless: partitions.filter(({ leaderId }) => leaderId < 0).length,
      rights: rightsIn(topic.topicAuthorizedOperations),
      config: exists ? await configOf('any', 'topic', name!, topicConfigs) : null,
    }
  }

  async function tryTransaction(id: string, groupId: string) {
    const target = { transaction: id }
    const { producerId, producerEpoch } = await ask(target, initProducerId, [id, transactionTimeoutMs])
    await ask(target, addOffsetsToTxn, [id, producerId, producerEpoch, groupId])
    await ask(target, endTxn, [id, producerId, producerEpoch, false])
  }

  return {
    nodes: nodes.map(({ nodeId, host, port }) => ({ id: nodeId, host, port })),
    async unspoken(id, apis) {
      const understood = await Promise.all(apis.map(api => brokers.understands({ node: id }, api)))
      return apis.filter((_, i) => !understood[i]).map(({ name }) => name)
    },
    async topics(names) {
      const { topics } = await describe(brokers, names)
      return new Map(await Promise.all(topics.map(async one => [one.name!, await topicOf(one)] as const)))
    },
    nodeConfig: (id, keys) => configOf({ node: id }, 'broker', String(id), keys),
    groupRights: groupId =>
      whenLoaded(async () => {
        const { groups } = await ask({ group: groupId }, describeGroups, [[groupId], true])
        return rightsIn(groups[0]!.authorizedOperations)
      }),
    tryTransaction: (id, groupId) => whenLoaded(() => tryTransaction(id, groupId)),
    close: () => brokers.close(),
  }
}

const fewest = (counts: readonly number[]) => counts.reduce((least, count) => Math.min(least, count), counts[0] ?? 0)

/** Asks again while a coordinator is on its way; the caller's patience ends it. */
async function whenLoaded<T>(ask: () => Promise<T>, tries = 20): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    const isOvertaken = error instanceof ProtocolError && error.type === 'INVALID_PRODUCER_EPOCH' // by who tries the same
    if (tries === 1 || !(isOvertaken || isTransient(error))) throw error
    await new Promise(resolve => setTimeout(resolve, retryMs))
    return whenLoaded(ask, tries - 1)
  }
}

/** Right is what an account may do with a topic or a group, as far as it matters here. */
export type Right = 'READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS'

/** Bits of `authorized_operations`: the codes of org.apache.kafka.common.acl.AclOperation. */
const bits: Record<Right, number> = { READ: 3, WRITE: 4, DESCRIBE: 8, DESCRIBE_CONFIGS: 10 }

export function rightsIn(operations: number): Set<Right> {
  return new Set((Object.keys(bits) as Right[]).filter(right => operations & (1 << bits[right])))
}

/** A command line of Kafka's own tools against the brokers of the settings. */
export function kafkaTool({ kafka }: Settings, { tool, args }: { tool: string; args: string }): string {
  const server = `--bootstrap-server ${Array.isArray(kafka.brokers) ? kafka.brokers[0] : 'BROKER:9092'}`
  const login = kafka.sasl || kafka.ssl ? ' --command-config ADMIN.properties' : ''
  return `${tool} ${server}${login} ${args}`
}

/** The command that gives the account of the settings a right. @param resource such as `--topic busgate.results` */
export function grantingAcl(settings: Settings, operation: string, resource: string): string {
  const { sasl, ssl } = settings.kafka
  const login = sasl?.mechanism === 'oauthbearer' ? sasl.clientId : sasl?.username
  const principal = login ?? (ssl ? 'CN=…' : 'ANONYMOUS')
  const args = `--add --allow-principal User:${principal} --operation ${operation} ${resource}`
  return kafkaTool(settings, { tool: 'kafka-acls.sh', args })
}
