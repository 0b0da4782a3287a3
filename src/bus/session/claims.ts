import type { TopicPartition } from '../port.ts'
import { claimOf } from './checkpoint.ts'
import type { Acquired, Part } from './driver.ts'

/** What a take-over does on the wire. */
export interface ClaimSteps {
  /** Reads what was committed last, once no transaction holds it back. */
  read(): Promise<Acquired>
  /** Before that, fences whoever has the partition and commits apart. */
  fenceAndRead(): Promise<Acquired>
  commit(part: Part): Promise<void>
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
    for (;;) {
      const { committed } = await fenceAndRead()
      const claim = committed && claimOf(committed.offset, committed.metadata, this.#tag)
      if (claim) await commit({ ...tp, records: [], offset: committed.offset, metadata: claim })
      const after = await fenceAndRead()
      if ((after.committed?.metadata ?? '') !== (claim ?? '')) continue // somebody has told what was known, just before
      if (breaks === this.#breaks()) this.#claimed.add(name)
      return { ...after, committed }
    }
  }
}
