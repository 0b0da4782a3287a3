import kafkajs, { type Kafka } from 'kafkajs'
import type { Clock } from '../../clock.ts'
import { BusUnavailable } from '../errors.ts'
import type { TopicPartition } from '../port.ts'
import type { Assignment } from '../session/assignment.ts'
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
  async locate(): Promise<void> {
    try {
      await this.#ask(async () => {})
    } catch (error) {
      if ((error as GroupError).asks === 'refused') throw error
      throw new BusUnavailable((error as GroupError).message, { cause: error })
    }
  }

  async join(memberId: string) {
    const { groupId, topics, sessionTimeoutMs, rebalanceTimeoutMs } = this.#options
    const metadata = MemberMetadata.encode({
      version: assigner.version,
      topics: [...topics],
      userData: Buffer.alloc(0),
    })
    const answer = await this.#ask(broker =>
      broker.joinGroup({
        groupId,
        memberId,
        sessionTimeout: sessionTimeoutMs,
        rebalanceTimeout: rebalanceTimeoutMs,
        groupProtocols: [{ name: assigner.name, metadata }],
      }),
    )
    const { generationId: generation, leaderId, members } = answer
    return { generation, leaderId, memberId: answer.memberId, memberIds: members.map(member => member.memberId) }
  }

  async sync({ memberId, generation }: { memberId: string; generation: number }, assignment: Assignment | null) {
    const { groupId } = this.#options
    const groupAssignment = [...(assignment ?? [])].map(([id, partitions]) => ({
      memberId: id,
      memberAssignment: encodeAssignment(partitions),
    }))
    const answer = await this.#ask(broker =>
      broker.syncGroup({ groupId, memberId, generationId: generation, groupAssignment }),
    )
    return decodeAssignment(answer.memberAssignment)
  }

  async heartbeat({ memberId, generation }: { memberId: string; generation: number }): Promise<void> {
    const { groupId, clock } = this.#options
    await this.#ask(broker =>
      within(clock, heartbeatLimitMs, broker.heartbeat({ groupId, memberId, groupGenerationId: generation })),
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

  async partitions(): Promise<Map<string, number>> {
    const { cluster } = this.#cluster
    await cluster.refreshMetadata()
    return new Map(this.#options.topics.map(topic => [topic, cluster.findTopicPartitionMetadata(topic).length]))
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

function encodeAssignment(partitions: readonly TopicPartition[]): Buffer {
  const assignment: Record<string, number[]> = {}
  for (const { topic, partition } of partitions) {
    assignment[topic] ??= []
    assignment[topic].push(partition)
  }
  return MemberAssignment.encode({ version: assigner.version, assignment, userData: Buffer.alloc(0) })
}

function decodeAssignment(bytes: Buffer): TopicPartition[] {
  const { assignment = {} } = MemberAssignment.decode(bytes) ?? {}
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map(partition => ({ topic, partition })),
  )
}

function within<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(new Error(`no answer within ${ms / 1000} s`)))
    work.then(resolve, reject).finally(cancel)
  })
}
