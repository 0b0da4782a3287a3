import type { TopicPartition } from '../port.ts'
import { claimOf } from './checkpoint.ts'
import type { Acquired, Part } from './driver.ts'
import type { GroupMember, MemberOf } from './member.ts'

/** What a take-over does on the wire. */
export interface ClaimSteps {
  /** Reads what was committed last, once no transaction holds it back. */
  read(): Promise<Acquired>
  /** Before that, fences whoever has the partition and commits apart. */
  fenceAndRead(): Promise<Acquired>
  /** As the member that took the partition over: what is read in one generation is not written in another. */
  commit(part: Part, of: MemberOf): Promise<void>
}

/**
 * Take-overs by a process that commits for all its partitions together. The group's generation keeps others of that kind
 * away, but not a process that commits apart, be it one that froze before an upgrade: that one is fenced by the epoch of
 * its partition, which it can renew as long as the checkpoint is its own, to tell what came of its requests. So the
 * checkpoint is made another one's between two fences: what it still commits in between is seen, and afterwards it has
 * nothing to renew for. Once is enough as long as this process takes part in every generation.
 */
export class Claims {
  readonly #tag: string
  readonly #member: () => Pick<GroupMember, 'synced' | 'breaks'>
  readonly #claimed = new Set<string>()
  #claimedAt = 0
  /** Take-overs under way, by partition: a session that is over may still wait for one. */
  readonly #acquiring = new Map<string, Promise<unknown>>()

  constructor(tag: string, member: () => Pick<GroupMember, 'synced' | 'breaks'>) {
    this.#tag = tag
    this.#member = member
  }

  acquire(tp: TopicPartition, steps: ClaimSteps): Promise<Acquired> {
    const name = `${tp.topic}/${tp.partition}`
    const { synced } = this.#member()
    const acquire = () => this.#acquire(name, tp, synced, steps)
    const acquired = (this.#acquiring.get(name) ?? Promise.resolve()).then(acquire, acquire)
    this.#acquiring.set(name, acquired)
    return acquired
  }

  async #acquire(
    name: string,
    tp: TopicPartition,
    of: MemberOf,
    { read, fenceAndRead, commit }: ClaimSteps,
  ): Promise<Acquired> {
    const { breaks } = this.#member()
    this.#checkIsStill(of)
    if (breaks !== this.#claimedAt) this.#claimed.clear()
    this.#claimedAt = breaks
    if (this.#claimed.has(name)) return read()
    for (;;) {
      const { committed } = await fenceAndRead()
      this.#checkIsStill(of)
      const claim = committed && claimOf(committed.offset, committed.metadata, this.#tag)
      if (claim) await commit({ ...tp, records: [], offset: committed.offset, metadata: claim }, of)
      this.#checkIsStill(of)
      const after = await fenceAndRead()
      this.#checkIsStill(of)
      if ((after.committed?.metadata ?? '') !== (claim ?? '')) continue // somebody has told what was known, just before
      this.#claimed.add(name)
      return { ...after, committed }
    }
  }

  /** The partition may be another process's in the next generation. */
  #checkIsStill(of: MemberOf): void {
    if (this.#member().synced !== of) throw new Error('the generation in which the partition was given is over')
  }
}
