import { type Clock, limited } from '../../clock.ts'
import {
  type Answered,
  describeGroups,
  heartbeat,
  joinGroup,
  leaveGroup,
  type Requested,
  syncGroup,
} from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import type { ProtocolError } from '../cluster/errors.ts'
import { BusUnavailable } from '../port.ts'
import type { Assignment, Given, Owned } from './assignment.ts'
import {
  decodeAnnouncement,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from './assignment-codec.ts'
import { type Announcement, differenceFrom, mendDifference } from './installation.ts'
import { GroupError, type GroupTransport, type Joined, type MemberOf } from './member.ts'

export interface CoordinatorOptions {
  brokers: Pick<Brokers, 'ask' | 'refresh' | 'partitions'>
  clock: Clock
  groupId: string
  /** Name of this process as a static member (`group.instance.id`). */
  instanceId?: string | undefined
  topics: readonly string[]
  /** Name of this process for other members. */
  process: string
  /** Name of the assignment protocol. All members of a group use the same. */
  protocol: string
  /** What other processes see of this one. */
  announcement?: Announcement
  sessionTimeoutMs: number
}

type JoinAnswer = Answered<typeof joinGroup>

const protocolType = 'consumer'
/** After this time without an answer, the coordinator is looked up again. */
const heartbeatLimitMs = 4_000
/** Least time for which a rebalance waits for a member to rejoin; twice a longer session time-out. */
const leastRebalanceMs = 30_000
/** Allowance for the network, beyond the time for which the coordinator may hold an answer back. */
const wayMs = 5_000

/** The coordinator's word for it; the group of a consumer with the new protocol (KIP-848) admits every member instead. */
const otherProgram = 'INCONSISTENT_GROUP_PROTOCOL'

/** What a member must do after an error code; for any other code it retries. */
const asks: Record<string, GroupError['asks']> = {
  REBALANCE_IN_PROGRESS: 'join',
  ILLEGAL_GENERATION: 'join',
  UNKNOWN_MEMBER_ID: 'join as new',
  FENCED_INSTANCE_ID: 'refused',
  GROUP_AUTHORIZATION_FAILED: 'refused',
  TOPIC_AUTHORIZATION_FAILED: 'refused',
  [otherProgram]: 'taken',
  INVALID_SESSION_TIMEOUT: 'refused',
  INVALID_GROUP_ID: 'refused',
  GROUP_MAX_SIZE_REACHED: 'taken',
  UNSUPPORTED_VERSION: 'refused',
}

const hints: Record<string, string> = {
  FENCED_INSTANCE_ID: 'Another process has the same kafka.instanceId: give each its own, or stop one of them.',
  GROUP_AUTHORIZATION_FAILED: 'Grant this client the right Read on the group.',
  [otherProgram]:
    'Another program uses this group, or an installation of busgate with another gateway or other topics. Give each its own group; kafka.groupId is the group of the workers.',
  INVALID_SESSION_TIMEOUT:
    'Choose a kafka.sessionTimeoutMs between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  GROUP_MAX_SIZE_REACHED: 'Run fewer processes, or raise group.max.size of the brokers.',
}

/** Talks to a group's current coordinator. */
export class Coordinator implements GroupTransport {
  readonly #options: CoordinatorOptions

  constructor(options: CoordinatorOptions) {
    this.#options = options
  }

  /**
   * Whether the group has members, joining ones included.
   * @throws GroupError when the group refuses this client; BusUnavailable when no broker coordinates it now
   */
  async hasMembers(): Promise<boolean> {
    return !['Empty', 'Dead'].includes((await this.#describe()).groupState)
  }

  /**
   * Looks for members of another program or installation, before this process does anything in the group's name.
   * @throws GroupError when there are some, or the group refuses this client; BusUnavailable when no broker coordinates it now
   */
  async checkOthers(): Promise<void> {
    const { groupState, protocolData } = await this.#describe()
    // only a stable group has a protocol
    if (groupState === 'Stable' && protocolData !== this.#options.protocol) throw await this.#taken(otherMembers())
  }

  async #describe() {
    const { brokers, groupId } = this.#options
    try {
      const { groups } = await translating(brokers.ask({ group: groupId }, describeGroups, [[groupId], false]))
      return groups[0]!
    } catch (error) {
      if ((error as GroupError).asks === 'refused') throw error
      throw new BusUnavailable((error as GroupError).message, { cause: error })
    }
  }

  async join(memberId: string, owned: Owned, named: (memberId: string) => void): Promise<Joined> {
    const answer = await this.#named(memberId, owned, named)
    named(answer.memberId)
    const { generationId: generation, leader: leaderId, members, skipAssignment: assigned } = answer
    const subscriptions = new Map(members.map(member => [member.memberId, decodeSubscription(member.metadata)]))
    return { generation, leaderId, memberId: answer.memberId, subscriptions, assigned }
  }

  async sync(member: MemberOf, assignment: Assignment | null): Promise<Given> {
    const { brokers, groupId, protocol, sessionTimeoutMs } = this.#options
    const assignments = [...(assignment?.shares ?? [])].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment(partitions, assignment!),
    }))
    const how = { line: `join ${groupId}`, limitMs: sessionTimeoutMs + wayMs } as const
    const request: Requested<typeof syncGroup> = [...this.#as(member), protocolType, protocol, assignments]
    const answer = await translating(brokers.ask({ group: groupId }, syncGroup, request, how))
    const given = decodeAssignment(answer.assignment)
    if (given) return given
    throw groupErrorOf(otherMembers())
  }

  async heartbeat(member: MemberOf): Promise<void> {
    const { brokers, groupId, clock } = this.#options
    const how = { line: 'group', limitMs: heartbeatLimitMs } as const
    const asked = brokers.ask({ group: groupId }, heartbeat, this.#as(member), how)
    await translating(limited(clock, heartbeatLimitMs, asked))
  }

  /** Leaves the group. A static member stays until it rejoins or its session times out. */
  async leave(memberId: string): Promise<void> {
    const { brokers, groupId, instanceId } = this.#options
    if (instanceId !== undefined) return
    await translating(brokers.ask({ group: groupId }, leaveGroup, [groupId, [{ memberId }]], { line: 'group' }))
  }

  async partitions(topics: readonly string[]): Promise<Map<string, number>> {
    const { brokers } = this.#options
    await brokers.refresh(topics)
    const counts = topics.map(async topic => [topic, await brokers.partitions(topic)] as const)
    return new Map(await Promise.all(counts))
  }

  /** A new member learns its id before the join may block, so that it can leave meanwhile. */
  async #named(memberId: string, owned: Owned, named: (memberId: string) => void): Promise<JoinAnswer> {
    try {
      return await this.#join(memberId, owned)
    } catch (error) {
      const given = nameIn(error)
      if (!given) throw await this.#taken(error)
      named(given)
      return this.#join(given, owned).catch(async error => {
        throw await this.#taken(error)
      })
    }
  }

  /** Of an error, the GroupError; one about other members says how they differ, if the group gives that out now. */
  async #taken(error: unknown): Promise<GroupError> {
    const { announcement, groupId } = this.#options
    if ((error as { type?: string }).type !== otherProgram || !announcement) return groupErrorOf(error)
    const members = await this.#describe().then(
      group => group.members,
      () => [],
    )
    const others = members.flatMap(({ memberMetadata }) => decodeAnnouncement(memberMetadata) ?? [])
    const difference = others.length > 0 ? differenceFrom(announcement, others) : null
    if (difference === null) return groupErrorOf(error)
    return new GroupError('taken', `the group ${groupId}: ${difference}: ${mendDifference}`, { cause: error })
  }

  #join(memberId: string, owned: Owned): Promise<JoinAnswer> {
    const { brokers, groupId, instanceId = null, topics, process, protocol } = this.#options
    const { sessionTimeoutMs, announcement } = this.#options
    const rebalanceMs = Math.max(leastRebalanceMs, 2 * sessionTimeoutMs)
    const metadata = encodeSubscription({ topics, process, owned }, announcement)
    const how = { line: `join ${groupId}`, limitMs: rebalanceMs + wayMs } as const
    const timeouts = [sessionTimeoutMs, rebalanceMs] as const
    const protocols = [{ name: protocol, metadata }]
    const request: Requested<typeof joinGroup> = [groupId, ...timeouts, memberId, instanceId, protocolType, protocols]
    return brokers.ask({ group: groupId }, joinGroup, request, how)
  }

  #as({ memberId, generation }: MemberOf): [groupId: string, generation: number, memberId: string, string | null] {
    const { groupId, instanceId = null } = this.#options
    return [groupId, generation, memberId, instanceId]
  }
}

/** As the coordinator would refuse this member. */
const otherMembers = () => Object.assign(new Error('its members use another protocol'), { type: otherProgram })

/** The member id in a MEMBER_ID_REQUIRED refusal. */
function nameIn(error: unknown): string | null {
  const { type, answer } = error as ProtocolError
  return type === 'MEMBER_ID_REQUIRED' ? (answer as JoinAnswer).memberId : null
}

/** @throws GroupError */
async function translating<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked
  } catch (error) {
    throw groupErrorOf(error)
  }
}

function groupErrorOf(error: unknown): GroupError {
  const { type = '', message } = error as Error & { type?: string }
  return new GroupError(asks[type] ?? 'wait', [message, hints[type]].filter(Boolean).join('. '), { cause: error })
}
