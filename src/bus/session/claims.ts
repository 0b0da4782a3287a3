import type { TopicPartition } from '../port.ts'
import { claimOf } from './checkpoint.ts'
import type { Acquired } from './driver.ts'

/** What a take-over does on the wire. */
export interface ClaimSteps {
  /** Reads what was committed last, once no transaction holds it back. */
  read(): Promise<Acquired>
  /** Before that, and once, fences whoever has the partition and commits apart. */
  fenceAndRead(): Promise<Acquired>
  /**
   * Commits as the owner of that fence, and as a member of the generation that there was before it.
   * @throws whatever happened, also when either is over
   */
  commit(offset: number, metadata: string): Promise<void>
}

/**
 * Take-overs by a process that commits for all its partitions together. The group's generation keeps others of that kind
 * away, but not a process that commits apart, be it one that froze before an upgrade: that one is fenced by the epoch of
 * its partition, which it can renew as long as the checkpoint is its own, to tell what came of its requests. So the
 * checkpoint is made nobody's, by a commit that both fence: the epoch, else what the other one told after it was read would
 * be written over; and the generation, else a claim that comes late would be written over what its next owner committed.
 * Once is enough as long as this process takes part in every generation.
 */
export class Claims {
  readonly #tag: string
  /** How often this process has missed a generation, or one began in which all commit in another way. */
  readonly #breaks: () => number
  readonly #claimed = new Set<string>()
  #claimedAt = 0

  constructor(tag: string, breaks: () => number) {
    this.#tag = tag
    this.#breaks = breaks
  }

  async acquire(tp: TopicPartition, { read, fenceAndRead, commit }: ClaimSteps): Promise<Acquired> {
    const breaks = this.#breaks()
    if (breaks !== this.#claimedAt) this.#claimed.clear()
    this.#claimedAt = breaks
    const name = `${tp.topic}/${tp.partition}`
    if (this.#claimed.has(name)) return read()
    const acquired = await fenceAndRead()
    const claim = acquired.committed && claimOf(acquired.committed, this.#tag)
    if (claim) await commit(claim.offset, claim.metadata!)
    if (breaks === this.#breaks()) this.#claimed.add(name)
    return claim ? { ...acquired, committed: claim } : acquired
  }
}
