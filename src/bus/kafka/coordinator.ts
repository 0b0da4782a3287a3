import kafkajs, { type Kafka } from 'kafkajs'
import { type Clock, limited } from '../../clock.ts'
import { BusUnavailable } from '../errors.ts'
import type { Assignment, Given } from '../session/assignment.ts'
import { GroupError, type GroupTransport } from '../session/member.ts'
import { type OpenCluster, openCluster } from './cluster.ts'
import { findCoordinator } from './find-coordinator.ts'
import type { InternalBroker } from './internals.ts'
import { reachable } from './reachable.ts'

export interface CoordinatorOptions {
  kafka: Kafka
  clock: Clock
  groupId: string
  topics: readonly string[]
  sessionTimeoutMs: number
  rebalanceTimeoutMs: number
}

const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol

/** The name under which members of one group offer the same way to assign partitions. */
const assigner = { name: 'RoundRobinAssigner', version: 0 }
/** A coordinator that does not answer for this long is looked for anew. */
const heartbeatLimitMs = 4_000

/** What the coordinator's errors ask of a member; any other one: to ask again. */
const asks: Record<string, GroupError['asks']> = {
  REBALANCE_IN_PROGRESS: 'join',
  ILLEGAL_GENERATION: 'join',
  UNKNOWN_MEMBER_ID: 'join as new',
  FENCED_INSTANCE_ID: 'join as new',
  GROUP_AUTHORIZATION_FAILED: 'refused',
  TOPIC_AUTHORIZATION_FAILED: 'refused',
  INCONSISTENT_GROUP_PROTOCOL: 'refused',
  INVALID_SESSION_TIMEOUT: 'refused',
  INVALID_GROUP_ID: 'refused',
  GROUP_MAX_SIZE_REACHED: 'refused',
}

const hints: Record<string, string> = {
  GROUP_AUTHORIZATION_FAILED: 'Grant this client the right Read on the group.',
  INCONSISTENT_GROUP_PROTOCOL: 'Another program uses this group: give busgate a kafka.groupId of its own.',
  INVALID_SESSION_TIMEOUT:
    'Choose a kafka.sessionTimeoutMs between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  GROUP_MAX_SIZE_REACHED: 'Run fewer processes, or raise group.max.size of the brokers.',
}

/** Speaks to the coordinator of a group on connections of its own, and looks for it again whenever it does not answer. */
export class Coordinator implements GroupTransport {
  readonly #options: CoordinatorOptions
  readonly #cluster: OpenCluster
  #broker: InternalBroker | null = null

  private constructor(options: CoordinatorOptions, cluster: OpenCluster) {
    this.#options = options
    this.#cluster = cluster
  }

  /** @throws BusUnavailable */
  static async connect(options: CoordinatorOptions): Promise<Coordinator> {
    const opened = await reachable(openCluster(options.kafka))
    try {
      await reachable(opened.cluster.addMultipleTargetTopics([...options.topics]))
      return new Coordinator(options, opened)
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  close(): Promise<void> {
    return this.#cluster.close()
  }

  /**
   * Finds the coordinator, so that a right that is missing shows before anything else is asked.
   * @throws GroupError when the group refuses this client; BusUnavailable when no broker coordinates it now
   */
  locate(): Promise<void> {
    return this.#askOnce(async () => {})
  }

  /**
   * Whether the group has members, or some that wait for each other to have joined.
   * @throws as `locate`
   */
  hasMembers(): Promise<boolean> {
    return this.#askOnce(async broker => {
      const { groups } = await broker.describeGroups({ groupIds: [this.#options.groupId] })
      return groups.some(({ state }) => state !== 'Empty' && state !== 'Dead')
    })
  }

  async join(memberId: string, named: (memberId: string) => void) {
    const { groupId, topics, sessionTimeoutMs, rebalanceTimeoutMs } = this.#options
    const metadata = MemberMetadata.encode({
      version: assigner.version,
      topics: [...topics],
      userData: Buffer.alloc(0),
    })
    const answer = await this.#ask(broker =>
      hearing(broker, named).joinGroup({
        groupId,
        memberId,
        sessionTimeout: sessionTimeoutMs,
        rebalanceTimeout: rebalanceTimeoutMs,
        groupProtocols: [{ name: assigner.name, metadata }],
      }),
    )
    const { generationId: generation, leaderId, members } = answer
    const subscriptions = new Map(
      members.map(member => [member.memberId, { topics: subscriptionOf(member.memberMetadata), process: null }]),
    )
    return { generation, leaderId, memberId: answer.memberId, subscriptions, commits: 'apart' as const }
  }

  async sync({ memberId, generation }: { memberId: string; generation: number }, assignment: Assignment | null) {
    const { groupId } = this.#options
    const groupAssignment = [...(assignment?.shares ?? [])].map(([id, partitions]) => ({
      memberId: id,
      memberAssignment: encodeAssignment({ partitions, counts: assignment!.counts }),
    }))
    const answer = await this.#ask(broker =>
      broker.syncGroup({ groupId, memberId, generationId: generation, groupAssignment }),
    )
    return decodeAssignment(answer.memberAssignment)
  }

  async heartbeat({ memberId, generation }: { memberId: string; generation: number }): Promise<void> {
    const { groupId, clock } = this.#options
    await this.#ask(broker =>
      limited(clock, heartbeatLimitMs, broker.heartbeat({ groupId, memberId, groupGenerationId: generation })),
    )
  }

  /** On a connection of its own: a join that waits holds up what comes behind it. */
  async leave(memberId: string): Promise<void> {
    const { kafka, groupId } = this.#options
    const opened = await openCluster(kafka)
    try {
      const broker = await this.#find(opened)
      await broker.leaveGroup({ groupId, memberId })
    } finally {
      await opened.close()
    }
  }

  async partitions(topics = this.#options.topics): Promise<Map<string, number>> {
    const { cluster } = this.#cluster
    await cluster.addMultipleTargetTopics([...topics])
    await cluster.refreshMetadata()
    return new Map(topics.map(topic => [topic, cluster.findTopicPartitionMetadata(topic).length]))
  }

  async #askOnce<T>(request: (broker: InternalBroker) => Promise<T>): Promise<T> {
    try {
      return await this.#ask(request)
    } catch (error) {
      if ((error as GroupError).asks === 'refused') throw error
      throw new BusUnavailable((error as GroupError).message, { cause: error })
    }
  }

  async #ask<T>(request: (broker: InternalBroker) => Promise<T>): Promise<T> {
    try {
      this.#broker ??= await this.#find(this.#cluster)
      return await request(this.#broker)
    } catch (error) {
      const { type = '', message } = error as Error & { type?: string }
      const wanted = asks[type] ?? 'wait'
      if (wanted === 'wait') this.#broker = null
      throw new GroupError(wanted, [message, hints[type]].filter(Boolean).join('. '), { cause: error })
    }
  }

  async #find({ cluster }: OpenCluster): Promise<InternalBroker> {
    await cluster.refreshMetadata()
    return findCoordinator(cluster, this.#options.groupId)
  }
}

/** kafkajs answers MEMBER_ID_REQUIRED by itself, and keeps the id that came with it until the group is complete. */
function hearing(broker: InternalBroker, named: (memberId: string) => void): InternalBroker {
  const lookupRequest: InternalBroker['lookupRequest'] = (apiKey, definitions) => {
    const request = broker.lookupRequest(apiKey, definitions)
    return args => {
      const { response, ...made } = request(args)
      const parse = async (data: unknown) => {
        const { memberId } = data as { memberId: string }
        if (memberId) named(memberId)
        return response.parse(data)
      }
      return { ...made, response: { ...response, parse } }
    }
  }
  return Object.create(broker, { lookupRequest: { value: lookupRequest } })
}

/** What cannot be read is another program's: it is given nothing. */
function subscriptionOf(metadata: Buffer): string[] {
  try {
    return MemberMetadata.decode(metadata)?.topics ?? []
  } catch {
    return []
  }
}

/** Beside the partitions, as user data that older versions pass over, stands how many the group's topics have in all. */
function encodeAssignment({ partitions, counts }: Pick<Given, 'partitions'> & Pick<Assignment, 'counts'>): Buffer {
  const assignment: Record<string, number[]> = {}
  for (const { topic, partition } of partitions) {
    assignment[topic] ??= []
    assignment[topic].push(partition)
  }
  const userData = Buffer.from(JSON.stringify({ partitions: Object.fromEntries(counts) }))
  return MemberAssignment.encode({ version: assigner.version, assignment, userData })
}

function decodeAssignment(bytes: Buffer): Given {
  const { assignment = {}, userData } = MemberAssignment.decode(bytes) ?? {}
  const partitions = Object.entries(assignment).flatMap(([topic, ofTopic]) =>
    ofTopic.map(partition => ({ topic, partition })),
  )
  return { partitions, counts: userData?.length ? countsIn(userData) : null, processes: null }
}

function countsIn(userData: Buffer): Given['counts'] {
  try {
    const { partitions } = JSON.parse(userData.toString()) as { partitions?: Record<string, number> }
    return partitions ? new Map(Object.entries(partitions)) : null
  } catch {
    return null
  }
}
