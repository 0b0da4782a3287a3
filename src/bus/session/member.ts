import { type Clock, sleep } from '../../clock.ts'
import { leaseMs } from '../../config/index.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { TopicPartition } from '../port.ts'
import { type Assignment, assignInTurn } from './assignment.ts'
import type { GroupEvents } from './driver.ts'

/** Who speaks to the coordinator, and of which generation of the group. */
export interface MemberOf {
  memberId: string
  generation: number
}

/** The answer to a join. Only the leader is told of the other members: it assigns the partitions. */
export interface Joined extends MemberOf {
  leaderId: string
  memberIds: readonly string[]
}

/** The requests of Kafka's classic group protocol. Each fails with a GroupError, or with any error when it got no answer. */
export interface GroupTransport {
  /** Waits until every member has joined. @param memberId as it was given last, or '' */
  join(memberId: string): Promise<Joined>
  /** Waits until the leader has assigned. @param assignment of the leader only */
  sync(member: MemberOf, assignment: Assignment | null): Promise<readonly TopicPartition[]>
  heartbeat(member: MemberOf): Promise<void>
  leave(memberId: string): Promise<void>
  /** How many partitions each of the group's topics has now. */
  partitions(): Promise<ReadonlyMap<string, number>>
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
  events: Pick<GroupEvents, 'joining' | 'assigned'>
  clock: Clock
  telemetry: Telemetry
  sessionTimeoutMs: number
  heartbeatMs: number
  /** How often the leader looks for partitions that were added. */
  partitionsAgeMs: number
}

/** A request that failed is made again after this long. */
const retryMs = 200

const nobody: MemberOf = { memberId: '', generation: -1 }

const asksOf = (error: unknown): GroupError['asks'] => (error instanceof GroupError ? error.asks : 'wait')

/**
 * This process's membership in a group: joins, heartbeats, and joins again whenever the answers say so, for as long as it
 * takes. The same on every bus; only the transport differs.
 */
export class GroupMember {
  readonly #options: GroupMemberOptions
  /** The last generation that this member was given partitions in. */
  #synced: MemberOf = nobody
  /** What to join with. */
  #memberId = ''
  #leads = false
  #partitions: ReadonlyMap<string, number> = new Map()
  #partitionsAt = 0
  /** Whether the last look found others than those. */
  #partitionsChanged = false
  #leaseUntil = Number.NEGATIVE_INFINITY
  #trouble: string | null = null
  #retiring = false
  #left = false
  #endPause = () => {}

  constructor(options: GroupMemberOptions) {
    this.#options = options
  }

  /** As the coordinator named it; '' until it did, or when it forgot. */
  get id(): string {
    return this.#memberId
  }

  /** See Membership.leaseUntil. */
  get leaseUntil(): number {
    return this.#retiring ? Number.NEGATIVE_INFINITY : this.#leaseUntil
  }

  /** The topics' partitions in all, as of the last assignment. */
  get totalPartitions(): number {
    return [...this.#partitions.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Why the group's coordinator cannot be asked now; null: it answers. */
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

  /** The coordinator has news: the next heartbeat is made at once. */
  nudge(): void {
    this.#endPause()
  }

  /** From now on no lease is given and no generation is joined; heartbeats go on until it leaves. */
  retire(): void {
    this.#retiring = true
  }

  async leave(): Promise<void> {
    this.stop()
    if (this.#memberId) await this.#options.transport.leave(this.#memberId)
  }

  /** Never to be heard of again. */
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
    refused(new Error('the group was left before it had answered'))
  }

  /** One generation: from the drain before it to the partitions in it. */
  async #join(): Promise<void> {
    const { transport, events, clock } = this.#options
    await this.#beatWhile(events.joining())
    this.#leaseUntil = Number.NEGATIVE_INFINITY
    if (this.#left || this.#retiring) return
    const joined = await transport.join(this.#memberId)
    this.#memberId = joined.memberId
    this.#partitions = await transport.partitions()
    this.#partitionsAt = clock.monotonic()
    this.#partitionsChanged = false
    this.#leads = joined.leaderId === joined.memberId
    const sentAt = clock.monotonic()
    const given = await transport.sync(joined, this.#leads ? assignInTurn(joined.memberIds, this.#partitions) : null)
    if (this.#left) return
    const { memberId, generation } = this.#synced
    const unbroken = joined.memberId === memberId && joined.generation === generation + 1
    this.#synced = joined
    this.#answered(sentAt)
    events.assigned(given, unbroken)
  }

  /** Heartbeats until the group asks for another join. */
  async #stay(): Promise<void> {
    const { clock, heartbeatMs, partitionsAgeMs } = this.#options
    for (let wait = heartbeatMs; !this.#left; ) {
      await this.#pause(wait)
      if (this.#left) return
      const asks = await this.#beat()
      wait = asks === null ? heartbeatMs : Math.min(retryMs, heartbeatMs)
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
    const found = await this.#options.transport.partitions().catch(() => known) // asked again in a while
    if (known !== this.#partitions) return // it has joined again since
    this.#partitionsChanged = [...found].some(([topic, count]) => count !== known.get(topic))
  }

  /** @returns what the coordinator asks for instead of an answer; null: it answered. */
  async #beat(): Promise<GroupError['asks'] | null> {
    const { transport, clock } = this.#options
    const sentAt = clock.monotonic()
    try {
      await transport.heartbeat(this.#synced)
      this.#answered(sentAt)
      return null
    } catch (error) {
      const asks = asksOf(error)
      if (asks === 'join as new') this.#leaseUntil = Number.NEGATIVE_INFINITY
      else if (asks !== 'join') this.#tell(error)
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
      await this.#pause(this.#options.heartbeatMs)
      if (busy && !this.#left) await this.#beat()
    }
    return ended
  }

  #answered(sentAt: number): void {
    if (this.#trouble !== null) this.#options.telemetry.emit('bus.log', { level: 'info', message: 'the group answers' })
    this.#trouble = null
    this.#leaseUntil = sentAt + leaseMs(this.#options.sessionTimeoutMs)
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
