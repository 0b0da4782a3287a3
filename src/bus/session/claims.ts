import type { TopicPartition } from '../port.ts'
import { claimOf } from './checkpoint.ts'
import type { Acquired, Committed } from './driver.ts'
import type { GroupMember, MemberOf } from './member.ts'

/** ClaimSteps is what a take-over does on the wire. */
export interface ClaimSteps {
  /** Reads what was committed last, once no transaction holds it back. */
  read(): Promise<Acquired>
  /** Reads the checkpoint. Before that it fences, once, whoever has the partition and commits apart. */
  fenceAndRead(): Promise<Acquired>
  /**
   * Commits as the owner of that fence, and as the member that took the partition over.
   * @throws whatever happened, also when either is over
   */
  commit(offset: number, metadata: string, of: MemberOf): Promise<void>
}

/**
 * Take-overs by a process that commits for all its partitions together. The group's generation keeps others of that kind
 * away, but not a process that commits apart: an older one, one with kafkajs, or one that is no member any more and tells
 * what it knew. That one is fenced by the epoch of its partition, which it can renew as long as the checkpoint is its own.
 * So a checkpoint of another process is made nobody's, by a commit that both fence: the epoch, else what the other one told
 * after it was read would be written over; and the generation, else a claim that comes late would be written over what its
 * next owner committed.
 */
export class Claims {
  readonly #tag: string
  readonly #member: () => Pick<GroupMember, 'synced' | 'breaks'>
  /** Partitions that were fenced since this process missed a generation, or one began in which all commit apart. */
  readonly #fenced = new Set<string>()
  #fencedAt = 0
  /** Take-overs under way, by partition: a session that is over may still wait for one. */
  readonly #acquiring = new Map<string, Promise<unknown>>()

  constructor(tag: string, member: () => Pick<GroupMember, 'synced' | 'breaks'>) {
    this.#tag = tag
    this.#member = member
  }

  acquire(tp: TopicPartition, steps: ClaimSteps): Promise<Acquired> {
    const name = `${tp.topic}/${tp.partition}`
    const { synced } = this.#member()
    const acquire = () => this.#acquire(name, synced, steps)
    const acquired = (this.#acquiring.get(name) ?? Promise.resolve()).then(acquire, acquire)
    this.#acquiring.set(name, acquired)
    return acquired
  }

  /** This process commits apart there now: when it goes back, that may still be on its way. */
  forget({ topic, partition }: TopicPartition): void {
    this.#fenced.delete(`${topic}/${partition}`)
  }

  async #acquire(name: string, of: MemberOf, { read, fenceAndRead, commit }: ClaimSteps): Promise<Acquired> {
    const { breaks } = this.#member()
    this.#checkIsStill(of)
    if (breaks !== this.#fencedAt) this.#fenced.clear()
    this.#fencedAt = breaks
    if (this.#fenced.has(name)) {
      const acquired = await read()
      if (!this.#claimOf(acquired)) return acquired
    }
    const acquired = await fenceAndRead()
    this.#checkIsStill(of)
    const claim = this.#claimOf(acquired)
    if (claim) await commit(claim.offset, claim.metadata!, of)
    this.#checkIsStill(of)
    this.#fenced.add(name)
    return claim ? { ...acquired, committed: claim } : acquired
  }

  #claimOf({ committed }: Acquired): Committed | null {
    return committed && claimOf(committed, this.#tag)
  }

  /** The partition may be another process's in the next generation. */
  #checkIsStill(of: MemberOf): void {
    if (this.#member().synced !== of) throw new Error('the generation in which the partition was given is over')
  }
}
