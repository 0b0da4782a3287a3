import { type Clock, sleep, stopwatch } from '../../clock.ts'
import { leaseMs } from '../../config/index.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { TopicPartition } from '../port.ts'
import { type Assignment, assignSticky, type Given, type Owned, type Subscription } from './assignment.ts'
import type { GroupEvents } from './driver.ts'

/** Who speaks to the coordinator, and of which generation of the group. */
export interface MemberOf {
  memberId: string
  generation: number
}

/** The answer to a join. Only the leader is told of the other members: it assigns the partitions. */
export interface Joined extends MemberOf {
  leaderId: string
  /** The subscription of each member, by its id. */
  subscriptions: ReadonlyMap<string, Subscription>
  /** Whether the group keeps the assignment that it has: its leader, a static member, has come back. */
  assigned?: boolean
}

/** The requests of Kafka's classic group protocol. Each fails with a GroupError, or with any error when it got no answer. */
export interface GroupTransport {
  /**
   * Waits until every member has joined.
   * @param memberId as it was given last, or ''
   * @param owned what it was given last
   * @param named hears the member's id as soon as the coordinator tells it; when it throws, the join ends with that
   */
  join(memberId: string, owned: Owned, named: (memberId: string) => void): Promise<Joined>
  /** Waits until the leader has assigned. @param assignment of the leader only */
  sync(member: MemberOf, assignment: Assignment | null): Promise<Given>
  heartbeat(member: MemberOf): Promise<void>
  leave(memberId: string): Promise<void>
  /** Tells how many partitions each of the topics has now; 0 where this process may not see it, or there is none. */
  partitions(topics: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/**
 * The coordinator's refusal of a request, by what it asks of the member.
 * join: the group rebalances, or this generation is over. join as new: the coordinator does not know the member.
 * wait: ask again a little later, perhaps elsewhere. refused: it will be refused until somebody changes something.
 */
export class GroupError extends Error {
  override readonly name = 'GroupError'
  readonly asks: 'join' | 'join as new' | 'wait' | 'refused'

  constructor(asks: GroupError['asks'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.asks = asks
  }
}

export interface GroupMemberOptions {
  transport: GroupTransport
  /** The topics that this process consumes; other members of the group may consume others. */
  topics: readonly string[]
  events: Pick<GroupEvents, 'joining' | 'entering' | 'notLetIn' | 'assigned'>
  clock: Clock
  telemetry: Telemetry
  sessionTimeoutMs: number
  /** Default: twice a second, and three times within the session time-out. */
  heartbeatMs?: number
  /** How often the leader looks for partitions that were added. */
  partitionsAgeMs: number
}

/** Members hear of a rebalance by their next heartbeat, and partitions rest until the last one has heard. */
const longestHeartbeatMs = 500

/** A request that failed is made again after this long. */
const retryMs = 200

const nobody: MemberOf = { memberId: '', generation: -1 }

const differ = (counts: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>) =>
  [...counts].some(([topic, count]) => count !== others.get(topic))

const asksOf = (error: unknown): GroupError['asks'] => (error instanceof GroupError ? error.asks : 'wait')

/**
 * This process's membership in a group: joins, heartbeats, and joins again whenever the answers say so, for as long as it
 * takes. The same on every bus; only the transport differs.
 */
export class GroupMember {
  readonly #options: GroupMemberOptions
  /** The last generation that this member was given partitions in. */
  #synced: MemberOf = nobody
  /** What it was given in that one. */
  #given: readonly TopicPartition[] = []
  /** The last generation that it was let in to, perhaps without hearing of its partitions. */
  #entered: MemberOf = nobody
  /** The id with which it joins. */
  #memberId = ''
  /** Resolves when the coordinator has named this member, or the join that would have told has ended. */
  #naming: Promise<void> = Promise.resolve()
  #leads = false
  /** Numbers of partitions as this process sees them: of its own topics, and where it leads of all the group's. */
  #partitions: ReadonlyMap<string, number> = new Map()
  #total = 0
  #processes: readonly string[] = []
  #unread: readonly string[] = []
  #partitionsAt = 0
  /** Whether the last look found others than those. */
  #partitionsChanged = false
  /** Milliseconds since the last answered heartbeat was sent; null: there is no lease. */
  #lease: (() => number) | null = null
  #trouble: string | null = null
  #retiring = false
  #left = false
  readonly #heartbeatMs: number
  #endPause = () => {}

  constructor(options: GroupMemberOptions) {
    this.#options = options
    this.#heartbeatMs = options.heartbeatMs ?? Math.min(longestHeartbeatMs, options.sessionTimeoutMs / 3)
  }

  /** The last generation that it was given partitions in: what it commits is committed as a member of that one. */
  get synced(): MemberOf {
    return this.#synced
  }

  /** The names of the processes in that generation. */
  get processes(): readonly string[] {
    return this.#processes
  }

  /** See Membership.hasLease. */
  get hasLease(): boolean {
    return !this.#retiring && this.isMember
  }

  /** See GroupMembership.isMember. */
  get isMember(): boolean {
    return this.#lease !== null && this.#lease() < leaseMs(this.#options.sessionTimeoutMs)
  }

  /** Partitions of all the group's topics, as of the last assignment. */
  get totalPartitions(): number {
    return this.#total
  }

  /** Names the topics of its own that the last assignment leaves out, but for what is given to this process, and says why. */
  get unread(): readonly string[] {
    return this.#unread
  }

  /** Tells why the group's coordinator cannot be asked now; null: it answers. */
  get trouble(): string | null {
    return this.#trouble
  }

  /**
   * Resolves when the member has its first partitions. A coordinator that cannot be reached is waited for.
   * @throws GroupError when the group refuses this member; Error when it is stopped before
   */
  join(): Promise<void> {
    return new Promise((joined, refused) => void this.#live(joined, refused))
  }

  /** Gives no lease and joins no generation from now on; heartbeats go on until it leaves. */
  retire(): void {
    this.#retiring = true
  }

  async leave(): Promise<void> {
    this.stop()
    await this.#naming
    if (this.#memberId) await this.#options.transport.leave(this.#memberId)
  }

  /** Ends at once, without a word to the group. */
  stop(): void {
    this.#retiring = true
    this.#left = true
    this.#endPause()
  }

  async #live(joined: () => void, refused: (error: unknown) => void): Promise<void> {
    let assigned = false
    while (!this.#left && !this.#retiring) {
      try {
        await this.#join()
        if (this.#left) break
        assigned = true
        joined()
        await this.#stay()
      } catch (error) {
        if (asksOf(error) === 'refused' && !assigned) {
          refused(error)
          return
        }
        await this.#recover(error)
      }
    }
    await this.#linger()
    refused(new Error('the process left the group before it answered'))
  }

  /** One generation: from the drain before it to the partitions in it. */
  async #join(): Promise<void> {
    const { events } = this.#options
    await this.#beatWhile(events.joining())
    this.#lease = null
    if (this.#left || this.#retiring) return
    events.entering()
    const next = await this.#nextGeneration().catch(error => {
      events.notLetIn()
      throw error
    })
    if (this.#left) return
    const { joined, given, sinceSent } = next
    const { memberId, generation } = this.#synced
    const unbroken = joined.memberId === memberId && joined.generation === generation + 1
    this.#synced = joined
    this.#answered(sinceSent)
    events.assigned(this.#take(given), unbroken)
  }

  async #nextGeneration(): Promise<{ joined: Joined; given: Given; sinceSent: () => number }> {
    const { transport, clock, topics } = this.#options
    const joined = await this.#enter()
    const subscribed = [...joined.subscriptions.values()].flatMap(subscription => subscription.topics)
    this.#partitions = await transport.partitions([...new Set([...topics, ...subscribed])])
    this.#partitionsAt = clock.monotonic()
    this.#partitionsChanged = false
    this.#leads = joined.leaderId === joined.memberId
    const sinceSent = stopwatch(clock)
    const assigns = this.#leads && !joined.assigned
    const given = await transport.sync(joined, assigns ? assignSticky(joined.subscriptions, this.#partitions) : null)
    if (this.#leads && !assigns) this.#partitionsChanged = differ(this.#partitions, given.counts)
    return { joined, given, sinceSent }
  }

  async #enter(): Promise<Joined> {
    const { promise, resolve: named } = Promise.withResolvers<void>()
    this.#naming = promise
    try {
      const owned = { generation: this.#synced.generation, partitions: this.#given }
      const joined = await this.#options.transport.join(this.#memberId, owned, memberId => {
        this.#memberId = memberId
        named()
        if (this.#left) throw new Error('the process left the group before it answered')
      })
      this.#memberId = joined.memberId
      this.#entered = joined
      return joined
    } finally {
      named()
    }
  }

  /** @returns what is given of this process's topics */
  #take({ partitions, counts, processes }: Given): readonly TopicPartition[] {
    const { topics } = this.#options
    this.#given = partitions
    this.#processes = processes
    this.#total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    this.#unread = topics
      .filter(topic => !counts.get(topic))
      .map(topic => `${topic}: nobody reads it: the process that leads the group cannot see it`)
    return partitions
  }

  /** Heartbeats until the group asks for another join. */
  async #stay(): Promise<void> {
    const { clock, partitionsAgeMs } = this.#options
    for (let wait = this.#heartbeatMs; !this.#left; ) {
      await this.#pause(wait)
      if (this.#left) return
      const asks = await this.#beat()
      wait = asks === null ? this.#heartbeatMs : Math.min(retryMs, this.#heartbeatMs)
      if (asks === 'join as new') this.#memberId = ''
      if (this.#retiring) continue
      if (asks === 'join' || asks === 'join as new' || this.#partitionsChanged) return
      if (this.#leads && clock.monotonic() - this.#partitionsAt > partitionsAgeMs) {
        this.#partitionsAt = clock.monotonic()
        void this.#lookForPartitions() // heartbeats do not wait for a broker that is slow to answer
      }
    }
  }

  async #lookForPartitions(): Promise<void> {
    const known = this.#partitions
    const found = await this.#options.transport.partitions([...known.keys()]).catch(() => known) // asked again in a while
    if (known !== this.#partitions) return // it has joined again since
    this.#partitionsChanged = differ(found, known)
  }

  /** Heartbeats of a member that retired while it was about to join again: what is in flight is still to be committed. */
  async #linger(): Promise<void> {
    while (!this.#left) {
      await this.#beat(this.#entered)
      if (!this.#left) await this.#pause(this.#heartbeatMs)
    }
  }

  /** @returns what the coordinator asks for instead of an answer; null: it answered. */
  async #beat(as = this.#synced): Promise<GroupError['asks'] | null> {
    const { transport, clock } = this.#options
    const sinceSent = stopwatch(clock)
    try {
      await transport.heartbeat(as)
      this.#answered(sinceSent)
      return null
    } catch (error) {
      const asks = asksOf(error)
      if (asks === 'join as new' || asks === 'refused') this.#lease = null
      if (asks === 'wait' || asks === 'refused') this.#tell(error)
      return asks
    }
  }

  /** A member that drains for long must not be taken for dead. */
  async #beatWhile(work: Promise<void>): Promise<void> {
    if (this.#synced === nobody || this.#memberId === '') return work
    let busy = true
    const ended = work.finally(() => {
      busy = false
      this.#endPause()
    })
    while (busy && !this.#left) {
      await this.#pause(this.#heartbeatMs)
      if (busy && !this.#left) await this.#beat()
    }
    return ended
  }

  #answered(sinceSent: () => number): void {
    if (this.#trouble !== null) this.#options.telemetry.emit('bus.log', { level: 'info', message: 'the group answers' })
    this.#trouble = null
    this.#lease = sinceSent
  }

  async #recover(error: unknown): Promise<void> {
    const asks = asksOf(error)
    if (asks === 'join as new') this.#memberId = ''
    if (asks === 'wait' || asks === 'refused') this.#tell(error)
    await sleep(this.#options.clock, asks === 'join' ? 0 : retryMs)
  }

  /** Logs a lasting trouble once. */
  #tell(error: unknown): void {
    const trouble = `the coordinator of the group: ${error instanceof Error ? error.message : String(error)}`
    if (trouble === this.#trouble) return
    this.#trouble = trouble
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
