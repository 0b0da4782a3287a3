import type { Clock } from '../../clock.ts'
import type { Assignment, Given, Subscription } from '../membership/assignment.ts'
import { type Announcement, differenceFrom, mendDifference } from '../membership/installation.ts'
import { GroupError, type Joined, type MemberOf } from '../membership/member.ts'

/** A member's subscription and time-out when it joins. */
export interface Joiner extends Subscription {
  /** After this time without a heartbeat, the member loses its partitions. */
  readonly sessionTimeoutMs: number
  /** Missing for a member that only reads. */
  readonly announcement?: Announcement
}

interface Member extends Joiner {
  /** Time of the last request, monotonic milliseconds. */
  heard: number
  /** Answers the pending JoinGroup once all members have joined. */
  joined: { resolve: (answer: Joined) => void; reject: (error: Error) => void } | null
  /** Answers the pending SyncGroup once the leader has assigned. */
  synced: { resolve: (given: Given) => void; reject: (error: Error) => void } | null
}

/**
 * The coordinator of one consumer group in Kafka's classic protocol. A member that joins or leaves starts a rebalance: all
 * members drain and rejoin, silent ones are removed, and the leader assigns all partitions in the next generation.
 */
export class MemoryGroup {
  readonly #clock: Clock
  readonly #members = new Map<string, Member>()
  #state: 'joining' | 'syncing' | 'steady' = 'steady'
  #generation = 0
  #leaderId = ''
  #assignment: Assignment | null = null
  #ids = 0
  #cancelCheck = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get hasMembers(): boolean {
    return this.#members.size > 0
  }

  /**
   * Resolves when all members have joined.
   * @param named receives the member id earlier
   * @throws GroupError when the member id is unknown, or when the members are of another installation
   */
  join(memberId: string, joiner: Joiner, named: (memberId: string) => void): Promise<Joined> {
    if (memberId !== '' && !this.#members.has(memberId)) throw unknownMember()
    this.#checkOthers(memberId, joiner)
    const id = memberId || `member-${++this.#ids}`
    named(id)
    return new Promise((resolve, reject) => {
      this.#members.set(id, { ...joiner, heard: this.#now, joined: { resolve, reject }, synced: null })
      this.#openRound()
    })
  }

  /** Resolves with the member's partitions when the leader has assigned them. @throws GroupError */
  sync(of: MemberOf, assignment: Assignment | null): Promise<Given> {
    const member = this.#known(of)
    if (this.#state === 'joining') throw rebalancing()
    member.heard = this.#now
    if (assignment && of.memberId === this.#leaderId && this.#state === 'syncing') {
      this.#assignment = assignment
      this.#state = 'steady'
      for (const [id, one] of this.#members) {
        one.synced?.resolve(givenTo(id, assignment))
        one.synced = null
        one.heard = this.#now
      }
    }
    if (this.#state === 'steady') return Promise.resolve(givenTo(of.memberId, this.#assignment!))
    return new Promise((resolve, reject) => {
      member.synced = { resolve, reject }
    })
  }

  /** @throws GroupError when the member must rejoin */
  heartbeat(of: MemberOf): void {
    const member = this.#known(of)
    member.heard = this.#now
    this.#giveUpSilent()
    if (this.#state === 'joining') throw rebalancing()
  }

  /** Whether the member may commit in this generation. @throws GroupError if not */
  checkCommit(of: MemberOf): void {
    this.#known(of)
  }

  leave(memberId: string): void {
    const member = this.#members.get(memberId)
    if (!member) return
    member.joined?.reject(unknownMember())
    member.synced?.reject(unknownMember())
    this.#members.delete(memberId)
    this.#openRound()
  }

  /** Like a coordinator: admits only members with the protocol of all others. */
  #checkOthers(memberId: string, { announcement }: Joiner): void {
    this.#giveUpSilent()
    if (!announcement) return
    const others = [...this.#members].flatMap(([id, member]) => (id === memberId ? [] : (member.announcement ?? [])))
    const difference = others.length > 0 ? differenceFrom(announcement, others) : null
    if (difference !== null) throw new GroupError('taken', `${difference}: ${mendDifference}`)
  }

  get #now(): number {
    return this.#clock.monotonic()
  }

  #known({ memberId, generation }: MemberOf): Member {
    const member = this.#members.get(memberId)
    if (!member) throw unknownMember()
    if (generation !== this.#generation) throw new GroupError('join', 'the generation is over')
    return member
  }

  #giveUpSilent(): void {
    for (const [id, { joined, synced, heard, sessionTimeoutMs }] of this.#members) {
      const waits = joined !== null || synced !== null
      if (!waits && this.#now - heard > sessionTimeoutMs) this.leave(id)
    }
  }

  #openRound(): void {
    if (this.#state !== 'joining') {
      this.#state = 'joining'
      for (const member of this.#members.values()) {
        member.synced?.reject(rebalancing())
        member.synced = null
      }
    }
    this.#cancelCheck()
    const missing = [...this.#members.values()].filter(({ joined }) => !joined)
    if (missing.length === 0) this.#completeRound()
    else this.#checkAt(Math.min(...missing.map(({ heard, sessionTimeoutMs }) => heard + sessionTimeoutMs)))
  }

  #completeRound(): void {
    this.#generation++
    this.#state = 'syncing'
    const memberIds = [...this.#members.keys()]
    if (!this.#members.has(this.#leaderId)) this.#leaderId = memberIds[0] ?? ''
    for (const [memberId, member] of this.#members) {
      const leads = memberId === this.#leaderId
      const { joined } = member
      member.heard = this.#now
      member.joined = null
      joined!.resolve({
        memberId,
        generation: this.#generation,
        leaderId: this.#leaderId,
        subscriptions: new Map(leads ? this.#members : []),
      })
    }
    const leader = this.#members.get(this.#leaderId)
    if (leader) this.#checkAt(this.#now + leader.sessionTimeoutMs) // the leader may die before it assigns
  }

  #checkAt(at: number): void {
    this.#cancelCheck = this.#clock.after(Math.max(0, at - this.#now) + 1, () => {
      if (this.#state === 'steady') return
      const before = this.#members.size
      this.#giveUpSilent()
      if (this.#members.size < before) return // `leave` has restarted the rebalance
      if (this.#state === 'joining') this.#openRound()
      else this.#checkAt(this.#now + Math.min(...[...this.#members.values()].map(member => member.sessionTimeoutMs)))
    })
  }
}

const givenTo = (memberId: string, { shares, ...told }: Assignment): Given => ({
  partitions: shares.get(memberId) ?? [],
  ...told,
})

const unknownMember = () => new GroupError('join as new', 'the group does not know this member')
const rebalancing = () => new GroupError('join', 'the group rebalances')
