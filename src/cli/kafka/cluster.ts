import {
  type Api,
  addOffsetsToTxn,
  describeGroups,
  endTxn,
  initProducerId,
  listGroups,
  metadata,
} from '../../bus/cluster/apis.ts'
import { Brokers, type ClusterMetadata, type TopicMetadata } from '../../bus/cluster/brokers.ts'
import { securityOf } from '../../bus/cluster/connecting.ts'
import { isTransient, ProtocolError } from '../../bus/cluster/errors.ts'
import { decodeAnnouncement, decodeSubscription } from '../../bus/membership/assignment-codec.ts'
import { isOwningProtocol } from '../../bus/membership/installation.ts'
import { allPartitions } from '../../bus/partitions.ts'
import { logEnds } from '../../bus/read/offsets.ts'
import { committedOffsets } from '../../bus/transactions/committed-offsets.ts'
import { systemClock } from '../../clock.ts'
import type { Settings } from '../../config/index.ts'
import { shellWord } from '../../shell.ts'
import { Telemetry } from '../../telemetry/events.ts'

/** Administrative requests to the brokers. Each has a time-out of some seconds. */
export type Cluster = ReturnType<typeof clusterOf>

/** A request with the versions that busgate supports. */
export type Spoken = Pick<Api<never[], unknown>, 'name' | 'key'> & { versions: readonly { version: number }[] }

export interface Topic {
  /** hidden: this account may not see whether the topic exists. */
  state: 'exists' | 'missing' | 'hidden'
  partitions: number
  /** Replicas of the partition with the fewest. */
  replicas: number
  inSync: number
  leaderless: number
  rights: ReadonlySet<Right>
  /** null if this account may not see it. */
  config: Config | null
}

/** Values by Kafka's names, such as `retention.ms`. */
export type Config = ReadonlyMap<string, string>

const topicConfigs = [
  ...['cleanup.policy', 'min.insync.replicas', 'retention.ms', 'retention.bytes', 'max.message.bytes'],
  'message.timestamp.type',
]
const errors = { unknownTopic: 3, topicDenied: 29 }
const transactionTimeoutMs = 10_000
/** Retry interval while a coordinator is loading, or its topic is being created. */
const retryMs = 200

/** Connects to the cluster. @param seeds bootstrap brokers: those of the settings, or those known to answer @throws Error */
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
  return brokers.ask('any', metadata, [[...topics], false, true])
}

function clusterOf(brokers: Brokers, { brokers: nodes }: ClusterMetadata) {
  return {
    nodes: nodes.map(({ nodeId, host, port }) => ({ id: nodeId, host, port })),
    /** Names of the requests that a node, at its advertised address, supports in no version that busgate uses. */
    async unspoken(id: number, apis: readonly Spoken[]): Promise<string[]> {
      const understood = await Promise.all(apis.map(api => brokers.understands({ node: id }, api)))
      return apis.filter((_, i) => !understood[i]).map(({ name }) => name)
    },
    /** All requested topics, whether they exist or not. */
    async topics(names: readonly string[]): Promise<Map<string, Topic>> {
      const { topics } = await describe(brokers, names)
      return new Map(await Promise.all(topics.map(async one => [one.name!, await topicOf(brokers, one)] as const)))
    },
    /** Settings of a node; null if this account may not see them. */
    nodeConfig: (id: number, keys: readonly string[]) => brokers.config({ node: id }, keys).catch(() => null),
    /** @throws ProtocolError when this account may not see the group */
    groupRights: (groupId: string) =>
      whenLoaded(async () => {
        const { groups } = await brokers.ask({ group: groupId }, describeGroups, [[groupId], true])
        return rightsIn(groups[0]!.authorizedOperations)
      }),
    /** What the members of a group say about their installations; none while it rebalances. @throws ProtocolError */
    announcements: (groupId: string) =>
      whenLoaded(async () => {
        const { groups } = await brokers.ask({ group: groupId }, describeGroups, [[groupId], false])
        return groups[0]!.members.flatMap(({ memberMetadata }) => decodeAnnouncement(memberMetadata) ?? [])
      }),
    /** Names of the groups whose workers run now and send from one of the topics, as far as this account may see them. */
    async sendingGroups(topics: readonly string[]): Promise<string[]> {
      const found = await Promise.all(nodes.map(({ nodeId }) => sendingGroupsAt(brokers, nodeId, topics)))
      return found.flat()
    },
    /** Whether the topic has records, but the group no committed offset on it. @throws ProtocolError that names the missing right */
    isUnread: (groupId: string, topic: string, partitions: number) =>
      whenLoaded(async () => {
        const tps = allPartitions(topic, partitions)
        const progress = await committedOffsets(brokers, groupId, tps)
        const failed = progress.find(({ error }) => error !== null)?.error
        if (failed) throw failed
        if (progress.some(({ committed }) => committed !== null)) return false
        const ends = await Promise.all(tps.map(tp => logEnds(brokers, tp)))
        return ends.some(({ low, high }) => low < high)
      }),
    /**
     * Begins and aborts a transaction of the group's offsets; writes nothing that a reader could see.
     * @throws ProtocolError that names the missing right
     */
    tryTransaction: (id: string, groupId: string) => whenLoaded(() => tryTransaction(brokers, id, groupId)),
    close: () => brokers.close(),
  }
}

async function topicOf(brokers: Brokers, { name, errorCode, partitions, ...topic }: TopicMetadata): Promise<Topic> {
  const exists = errorCode !== errors.unknownTopic && errorCode !== errors.topicDenied
  return {
    state: exists ? 'exists' : errorCode === errors.topicDenied ? 'hidden' : 'missing',
    partitions: partitions.length,
    replicas: fewest(partitions.map(({ replicaNodes }) => replicaNodes.length)),
    inSync: fewest(partitions.map(({ isrNodes }) => isrNodes.length)),
    leaderless: partitions.filter(({ leaderId }) => leaderId < 0).length,
    rights: rightsIn(topic.topicAuthorizedOperations),
    config: exists ? await brokers.config({ topic: name! }, topicConfigs).catch(() => null) : null,
  }
}

async function sendingGroupsAt(brokers: Brokers, node: number, topics: readonly string[]): Promise<string[]> {
  const listed = await brokers.ask({ node }, listGroups, [[], []])
  const ids = listed.groups.flatMap(group => (group.protocolType === 'consumer' ? [group.groupId] : []))
  if (ids.length === 0) return []
  const { groups } = await brokers.ask({ node }, describeGroups, [ids, false])
  return groups.flatMap(({ groupId, protocolData, members }) => {
    const read = members.flatMap(({ memberMetadata }) => decodeSubscription(memberMetadata).topics)
    return isOwningProtocol(protocolData) && topics.some(topic => read.includes(topic)) ? [groupId] : []
  })
}

async function tryTransaction(brokers: Brokers, id: string, groupId: string): Promise<void> {
  const target = { transaction: id }
  const { producerId, producerEpoch } = await brokers.ask(target, initProducerId, [id, transactionTimeoutMs])
  await brokers.ask(target, addOffsetsToTxn, [id, producerId, producerEpoch, groupId])
  await brokers.ask(target, endTxn, [id, producerId, producerEpoch, false])
}

const fewest = (counts: readonly number[]) => counts.reduce((least, count) => Math.min(least, count), counts[0] ?? 0)

/** Retries while a coordinator is loading; the caller limits the time. */
async function whenLoaded<T>(ask: () => Promise<T>, tries = 20): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    // by another check at the same time
    const isOvertaken = error instanceof ProtocolError && error.type === 'INVALID_PRODUCER_EPOCH'
    if (tries === 1 || !(isOvertaken || isTransient(error))) throw error
    await new Promise(resolve => setTimeout(resolve, retryMs))
    return whenLoaded(ask, tries - 1)
  }
}

/** Rights of an account on a topic or group that matter here. */
export type Right = 'READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS'

/** Bits of `authorized_operations`: the codes of org.apache.kafka.common.acl.AclOperation. */
const bits: Record<Right, number> = { READ: 3, WRITE: 4, DESCRIBE: 8, DESCRIBE_CONFIGS: 10 }

export function rightsIn(operations: number): Set<Right> {
  return new Set((Object.keys(bits) as Right[]).filter(right => operations & (1 << bits[right])))
}

/** A command line of Kafka's tools for the brokers of the settings. */
export function kafkaTool({ kafka }: Settings, { tool, args }: { tool: string; args: string }): string {
  const server = `--bootstrap-server ${shellWord(Array.isArray(kafka.brokers) ? kafka.brokers[0]! : 'BROKER:9092')}`
  const login = kafka.sasl || kafka.ssl ? ' --command-config ADMIN.properties' : ''
  return `${tool} ${server}${login} ${args}`
}

/** The command that grants a right to the account of the settings. @param resource such as `--topic busgate.results` */
export function grantingAcl(settings: Settings, operation: string, resource: string): string {
  const { sasl, ssl } = settings.kafka
  const login = sasl?.mechanism === 'oauthbearer' ? sasl.clientId : sasl?.username
  const principal = login ?? (ssl ? 'CN=…' : 'ANONYMOUS')
  const args = `--add --allow-principal ${shellWord(`User:${principal}`)} --operation ${operation} ${resource}`
  return kafkaTool(settings, { tool: 'kafka-acls.sh', args })
}
