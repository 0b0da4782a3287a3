import { notOpen } from '../partitions.ts'
import type { Membership } from '../port.ts'

/** What a process must show before it takes partitions from one that may work. */
export interface Proof {
  /** Rejects if it never comes. */
  readonly proved: Promise<void>
  /** Why the process cannot work, before and after it was proved; empty if it can. */
  reasons(): string[]
}

/** A role's place in its group. It is taken only with a proof: until then, and after `leave`, the process holds no partition. */
export class GroupPlace {
  membership: Membership | null = null
  readonly #proof: Proof
  readonly #join: () => Promise<Membership>
  #isLeft = false

  constructor(proof: Proof, join: () => Promise<Membership>) {
    this.#proof = proof
    this.#join = join
  }

  /** @throws Error when the proof never comes, the bus refuses, or `leave` was called meanwhile */
  async take(): Promise<Membership> {
    await this.#proof.proved
    if (this.#isLeft) throw new Error('stopped before it joined the group')
    const joined = await this.#join()
    if (this.#isLeft) {
      await joined.leave()
      throw new Error('stopped while it joined the group')
    }
    this.membership = joined
    return joined
  }

  /** Why the role does not work now; empty if it does. */
  reasons(): string[] {
    const reasons = this.#proof.reasons()
    if (this.membership === null) return reasons.length > 0 ? reasons : ['joins its group']
    const trouble = this.membership.trouble()
    return [
      ...reasons,
      ...(trouble ? [trouble] : []),
      ...this.membership.unread(),
      ...notOpen(this.membership.sessions()),
    ]
  }

  /** Leaves the group; a join that is under way is undone once it ends. */
  async leave(finishMs?: number): Promise<void> {
    this.#isLeft = true
    await this.membership?.leave(finishMs)
  }
}
