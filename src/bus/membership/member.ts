import { type Clock, limited, sleep, stopwatch } from '../../clock.ts'
import { leaseMs } from '../../config/index.ts'
import { byCode } from '../../telemetry/error.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { TopicPartition } from '../port.ts'
import { type Assignment, assignSticky, type Given, type Owned, type Subscription } from './assignment.ts'

/** A member id in one generation of the group. */
export interface MemberOf {
  memberId: string
  generation: number
}

/** The answer to a JoinGroup. Only the leader gets the subscriptions, since it assigns the partitions. */
export interface Joined extends MemberOf {
  leaderId: string
  subscriptions: ReadonlyMap<string, Subscription>
  /** Whether the group keeps its assignment, because its static leader rejoined. */
  assigned?: boolean
}

/**
 * The requests of Kafka's classic group protocol. Each rejects with a GroupError, or with any other error if no answer came.
 */
export interface GroupTransport {
  /**
   * Resolves when every member has joined.
   * @param memberId the latest one, or ''
   * @param owned the latest assignment
   * @param named receives the member id as soon as the coordinator assigns it; an error that it throws ends the join
   */
  join(memberId: string, owned: Owned, named: (memberId: string) => void): Promise<Joined>
  /** Resolves when the leader has assigned. @param assignment null unless this member is the leader */
  sync(member: MemberOf, assignment: Assignment | null): Promise<Given>
  heartbeat(member: MemberOf): Promise<void>
  leave(memberId: string): Promise<void>
  /** Number of partitions of each topic; 0 if it does not exist or is hidden from this client. */
  partitions(topics: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/**
 * The coordinator's refusal, with the member's next step. join: the group rebalances, or the generation is over. join as new:
 * the coordinator does not know the member. wait: retry soon, perhaps at another broker. taken: retries fail until other members
 * leave. refused: retries fail until someone changes the configuration.
 */
export class GroupError extends Error {
  static override [Symbol.hasInstance] = byCode('GROUP_REFUSED')
  override readonly name = 'GroupError'
  readonly code = 'GROUP_REFUSED'
  readonly asks: 'join' | 'join as new' | 'wait' | 'taken' | 'refused'

  constructor(asks: GroupError['asks'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.asks = asks
  }
}

export interface GroupEvents {
  /**
   * Called before this member joins or rejoins, to finish what is in flight. Resolves when the join may proceed: the current
   * generation may end at any time then.
   */
  joining(): Promise<void>
  /**
   * The complete new assignment.
   * @param unbroken whether no other member can have owned a partition that is kept: the member is the same, and its
   *   generations are consecutive
   */
  assigned(partitions: readonly TopicPartition[], unbroken: boolean): void
}

export interface GroupMemberOptions {
  transport: GroupTransport
  /** The topics that this process consumes; other members may consume others. */
  topics: readonly string[]
  events: GroupEvents
  clock: Clock
  telemetry: Telemetry
  sessionTimeoutMs: number
  /** How often the leader checks for added partitions. */
  partitionsAgeMs: number
}

/**
 * A member learns of a rebalance from its next heartbeat, and partitions stand still until the last member has learnt of it.
 */
const longestHeartbeatMs = 500

/** Back-off after a failed request. */
const retryMs = 200
/** Time-out of leaving; connecting to brokers that are down could take minutes. */
const leaveLimitMs = 3_000

const nobody: MemberOf = { memberId: '', generation: -1 }

const differ = (counts: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>) =>
  [...counts].some(([topic, count]) => count !== others.get(topic))

const asksOf = (error: unknown): GroupError['asks'] => (error instanceof GroupError ? error.asks : 'wait')

/** Whether the group refuses this member because of the members that it has. */
export const isTaken = (error: unknown): error is GroupError => error instanceof GroupError && error.asks === 'taken'

/** Whether an immediate retry would fail. */
const isFinal = (asks: GroupError['asks']) => asks === 'refused' || asks === 'taken'

/**
 * This process's membership in a group: joins, sends heartbeats, and rejoins whenever the coordinator asks for it. The same
 * on every adapter; only the transport differs.
 */
export class GroupMember {
  readonly #options: GroupMemberOptions
  /** The last generation in which this member got its assignment; commits carry this generation. */
  synced: MemberOf = nobody
  #given: Given = { partitions: [], counts: new Map(), processes: [] }
  /** The last generation that it joined, perhaps without an assignment. */
  #entered: MemberOf = nobody
  #memberId = ''
  /** Resolves when the coordinator has assigned a member id, or when the join has ended without one. */
  #naming: Promise<void> = Promise.resolve()
  #leads!: boolean
  #partitionsAt!: number
  /** Whether this member leads the group and found other partition counts than the assignment has. */
  #partitionsChanged!: boolean
  /** Milliseconds since the last answered heartbeat was sent; null without a lease. */
  #lease: (() => number) | null = null
  /** Why the coordinator cannot be reached now; null if it can. */
  trouble: string | null = null
  #retiring = false
  #left = false
  readonly #heartbeatMs: number
  #endPause = () => {}

  constructor(options: GroupMemberOptions) {
    this.#options = options
    this.#heartbeatMs = Math.min(longestHeartbeatMs, options.sessionTimeoutMs / 3)
  }

  get processes(): readonly string[] {
    return this.#given.processes
  }

  get hasLease(): boolean {
    return !this.#retiring && this.isMember
  }

  /** Whether the coordinator has confirmed the membership within the lease; stays true while leaving. */
  get isMember(): boolean {
    return this.#lease !== null && this.#lease() < leaseMs(this.#options.sessionTimeoutMs)
  }

  /** Number of partitions of all the group's topics, as of the last assignment. */
  get totalPartitions(): number {
    return [...this.#given.counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** This process's topics that the leader could not assign, each with the reason. */
  get unread(): readonly string[] {
    return this.#options.topics
      .filter(topic => !this.#given.counts.get(topic))
      .map(topic => `${topic} is not read: the process that leads the group cannot see it`)
  }

  /**
   * Resolves when the member has its first assignment; retries while the coordinator cannot be reached.
   * @throws GroupError when the group refuses this member; Error when it is stopped before
   */
  join(): Promise<void> {
    return new Promise((joined, refused) => void this.#live(joined, refused))
  }

  /** Gives up the lease and joins no further generation; heartbeats continue until it leaves. */
  retire(): void {
    this.#retiring = true
  }

  /** Leaves the group. Without an answer, the session time-out removes this member. */
  async leave(): Promise<void> {
    const { clock, transport } = this.#options
    this.#stop()
    const left = this.#naming.then(() => (this.#memberId ? transport.leave(this.#memberId) : undefined))
    await limited(clock, leaveLimitMs, left).catch(() => {})
  }

  /** Ends at once. Leaves the group only before its first assignment, for which the other members would wait. */
  async close(): Promise<void> {
    if (this.synced === nobody) await this.leave()
    else this.#stop()
  }

  #stop(): void {
    this.#retiring = true
    this.#left = true
    this.#endPause()
  }

  async #live(joined: () => void, refused: (error: unknown) => void): Promise<void> {
    let assigned = false
    while (!this.#retiring) {
      try {
        await this.#join()
        if (this.#retiring) break
        assigned = true
        joined()
        await this.#stay()
      } catch (error) {
        if (isFinal(asksOf(error)) && !assigned) {
          refused(error)
          return
        }
        await sleep(this.#options.clock, this.#refused(error) === 'join' ? 0 : retryMs)
      }
    }
    refused(new Error('the process left the group while it was joining'))
    void this.#beatWhile(() => true, this.#entered) // so that what is in flight can be committed
  }

  /** Joins one generation: drains, joins, and gets the assignment. */
  async #join(): Promise<void> {
    const { events, transport, clock, topics } = this.#options
    let isDrained = false
    const drained = events.joining().finally(() => {
      isDrained = true
      this.#endPause()
    })
    await Promise.all([drained, this.#beatWhile(() => !isDrained, this.synced)])
    this.#lease = null
    if (this.#retiring) return
    const joined = await this.#enter()
    const subscribed = [...joined.subscriptions.values()].flatMap(subscription => subscription.topics)
    const counts = await transport.partitions([...new Set([...topics, ...subscribed])])
    this.#partitionsAt = clock.monotonic()
    this.#leads = joined.leaderId === joined.memberId
    const sinceSent = stopwatch(clock)
    const assigns = this.#leads && !joined.assigned
    const given = await transport.sync(joined, assigns ? assignSticky(joined.subscriptions, counts) : null)
    if (this.#left) return
    this.#partitionsChanged = this.#leads && differ(counts, given.counts)
    const { memberId, generation } = this.synced
    const unbroken = joined.memberId === memberId && joined.generation === generation + 1
    this.synced = joined
    this.#given = given
    this.#answered(sinceSent)
    events.assigned(given.partitions, unbroken)
  }

  async #enter(): Promise<Joined> {
    const { promise, resolve: named } = Promise.withResolvers<void>()
    this.#naming = promise
    try {
      const owned = { generation: this.synced.generation, partitions: this.#given.partitions }
      const joined = await this.#options.transport.join(this.#memberId, owned, memberId => {
        this.#memberId = memberId
        named()
        if (this.#left) throw new Error('the process left the group while it was joining')
      })
      this.#entered = joined
      return joined
    } finally {
      named()
    }
  }

  /** Sends heartbeats until the group rebalances, or this member retires. */
  async #stay(): Promise<void> {
    const { clock, partitionsAgeMs } = this.#options
    for (let wait = this.#heartbeatMs; ; ) {
      await this.#pause(wait)
      if (this.#retiring) return
      const asks = await this.#beat(this.synced)
      wait = asks === null ? this.#heartbeatMs : Math.min(retryMs, this.#heartbeatMs)
      if (asks === 'join' || asks === 'join as new' || this.#partitionsChanged) return
      if (this.#leads && clock.monotonic() - this.#partitionsAt > partitionsAgeMs) {
        this.#partitionsAt = clock.monotonic()
        void this.#lookForPartitions() // not awaited: a slow broker must not delay heartbeats
      }
    }
  }

  async #lookForPartitions(): Promise<void> {
    const { counts: known } = this.#given
    const found = await this.#options.transport.partitions([...known.keys()]).catch(() => known) // retried at the next check
    if (known !== this.#given.counts) return // it has rejoined since
    this.#partitionsChanged = differ(found, known)
  }

  /** @returns the coordinator's refusal; null if it accepted the heartbeat */
  async #beat(as: MemberOf): Promise<GroupError['asks'] | null> {
    const { transport, clock } = this.#options
    const sinceSent = stopwatch(clock)
    try {
      await transport.heartbeat(as)
      this.#answered(sinceSent)
      return null
    } catch (error) {
      const asks = this.#refused(error)
      if (asks === 'join as new' || isFinal(asks)) this.#lease = null
      return asks
    }
  }

  /** Sends heartbeats, so that the session does not time out. */
  async #beatWhile(isBusy: () => boolean, as: MemberOf): Promise<void> {
    while (isBusy() && !this.#left) {
      await this.#pause(this.#heartbeatMs)
      if (isBusy() && !this.#left) await this.#beat(as)
    }
  }

  #answered(sinceSent: () => number): void {
    if (this.trouble !== null)
      this.#options.telemetry.emit('bus.log', { level: 'info', message: 'the coordinator of the group answers again' })
    this.trouble = null
    this.#lease = sinceSent
  }

  /** @returns what the coordinator asks of this member */
  #refused(error: unknown): GroupError['asks'] {
    const asks = asksOf(error)
    if (asks === 'join as new') this.#memberId = ''
    if (asks === 'wait' || isFinal(asks)) this.#tell(error)
    return asks
  }

  /** Logs a repeated error once. */
  #tell(error: unknown): void {
    const trouble = `the coordinator of the group: ${(error as Error).message}`
    if (trouble === this.trouble) return
    this.trouble = trouble
    this.#options.telemetry.emit('bus.log', { level: 'warn', message: trouble })
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.clock.after(ms, resolve)
      this.#endPause = () => {
        cancel()
        resolve()
      }
    })
  }
}
