import type { Clock } from '../../clock.ts'
import type { TopicPartition } from '../port.ts'
import type { Assignment } from '../session/assignment.ts'
import { GroupError, type Joined, type MemberOf } from '../session/member.ts'

/** What a member says of itself when it joins. */
export interface Joiner {
  /** Silent for this long, it has lost its partitions. */
  readonly sessionTimeoutMs: number
  /** Send a heartbeat now: its answer brings news. */
  nudge(): void
}

interface Member extends Joiner {
  /** When it was last heard of, monotonic milliseconds. */
  heard: number
  /** Answers its join, while it waits for the round to be complete. */
  joined: ((answer: Joined) => void) | null
  /** Answers its sync, while it waits for the leader. */
  synced: { resolve: (partitions: readonly TopicPartition[]) => void; reject: (error: Error) => void } | null
}

/**
 * The coordinator of one consumer group, by Kafka's classic protocol. Whoever comes or goes starts a round: all members
 * drain and join again, the silent ones are given up, and the leader assigns all partitions anew in the next generation.
 */
export class MemoryGroup {
  readonly #clock: Clock
  readonly #members = new Map<string, Member>()
  #state: 'joining' | 'syncing' | 'steady' = 'steady'
  #generation = 0
  #leaderId = ''
  #assignment: Assignment = new Map()
  #ids = 0
  #cancelCheck = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when the round is complete. @throws GroupError when it does not know the member */
  join(memberId: string, joiner: Joiner): Promise<Joined> {
    if (memberId !== '' && !this.#members.has(memberId)) throw unknownMember()
    const id = memberId || `member-${++this.#ids}`
    return new Promise(joined => {
      const { sessionTimeoutMs } = joiner
      const member: Member = { sessionTimeoutMs, nudge: () => joiner.nudge(), heard: this.#now, joined, synced: null }
      this.#members.set(id, member)
      this.#openRound()
    })
  }

  /** Resolves with the member's partitions when the leader has assigned them. @throws GroupError */
  sync(of: MemberOf, assignment: Assignment | null): Promise<readonly TopicPartition[]> {
    const member = this.#known(of)
    if (this.#state === 'joining') throw rebalancing()
    member.heard = this.#now
    if (assignment && of.memberId === this.#leaderId && this.#state === 'syncing') {
      this.#assignment = assignment
      this.#state = 'steady'
      for (const [id, one] of this.#members) {
        one.synced?.resolve(assignment.get(id) ?? [])
        one.synced = null
        one.heard = this.#now
      }
    }
    if (this.#state === 'steady') return Promise.resolve(this.#assignment.get(of.memberId) ?? [])
    return new Promise((resolve, reject) => {
      member.synced = { resolve, reject }
    })
  }

  /** @throws GroupError when the member has to join again */
  heartbeat(of: MemberOf): void {
    const member = this.#known(of)
    member.heard = this.#now
    this.#giveUpSilent()
    if (this.#state === 'joining') throw rebalancing()
  }

  leave(memberId: string): void {
    const member = this.#members.get(memberId)
    if (!member) return
    member.synced?.reject(unknownMember())
    this.#members.delete(memberId)
    this.#openRound()
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
    if (missing.length === 0) {
      this.#completeRound()
      return
    }
    for (const member of missing) member.nudge()
    this.#checkAt(Math.min(...missing.map(({ heard, sessionTimeoutMs }) => heard + sessionTimeoutMs)))
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
      joined!({
        memberId,
        generation: this.#generation,
        leaderId: this.#leaderId,
        memberIds: leads ? memberIds : [],
      })
    }
    const leader = this.#members.get(this.#leaderId)
    if (leader) this.#checkAt(this.#now + leader.sessionTimeoutMs) // a leader that dies now would be waited for
  }

  #checkAt(at: number): void {
    this.#cancelCheck = this.#clock.after(Math.max(0, at - this.#now) + 1, () => {
      if (this.#state === 'steady') return
      const before = this.#members.size
      this.#giveUpSilent()
      if (this.#members.size < before) return // each one that goes opens the round anew
      if (this.#state === 'joining') this.#openRound()
      else this.#checkAt(this.#now + Math.min(...[...this.#members.values()].map(member => member.sessionTimeoutMs)))
    })
  }
}

const unknownMember = () => new GroupError('join as new', 'the group does not know this member')
const rebalancing = () => new GroupError('join', 'the group rebalances')
