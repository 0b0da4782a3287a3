import type { Account } from '../../accounts/account.ts'
import type { Kind, Shares } from './shares.ts'
import { mostPassedOver } from './urgency-turns.ts'

/** Smoothing factors of the preparation time, which follows increases faster than decreases. */
const rise = 1 / 4
const fall = 1 / 64
/** Smoothing factor of the usual request time. */
const drift = 1 / 16

/** Minimum. With one envelope, bulk would get a slot out of turn whenever two requests end together. */
const least = 2

/**
 * Number of envelopes to prepare ahead so that no slot waits for a commit: as many as the slots send while one is prepared.
 * With more, later commands would only wait longer.
 */
class PipelineDepth {
  readonly #slots: number
  /** High estimate of the milliseconds to prepare an envelope. */
  #preparing = 0
  /** Mean milliseconds for which a request holds its slot; 0 if unknown. */
  #sending = 0

  /** @param slots most requests in flight */
  constructor(slots: number) {
    this.#slots = slots
  }

  get envelopes(): number {
    if (this.#sending === 0) return this.#slots
    return Math.max(least, Math.ceil((this.#slots * this.#preparing) / this.#sending))
  }

  /** Records the milliseconds from forming an envelope to its committed intents. */
  prepared(ms: number): void {
    this.#preparing += (ms - this.#preparing) * (ms > this.#preparing ? rise : fall)
  }

  /** Records the milliseconds for which a request held its slot. */
  sent(ms: number): void {
    const took = Math.max(1, ms)
    this.#sending = this.#sending === 0 ? took : this.#sending + (took - this.#sending) * drift
  }
}

/** Decides which envelopes to prepare ahead of their slots. */
export class Pipeline {
  readonly #shares: Shares
  readonly #concurrency: number
  readonly #none: readonly number[]
  /** By the answers of quick accounts. Other accounts prepare no envelopes for slots that are not free. */
  readonly #depth: PipelineDepth
  /** Number of envelopes that are being prepared or wait for a slot, by urgency, of each account that has any. */
  readonly #ahead = new Map<Account, number[]>()
  /** The sums of these numbers. */
  readonly #all: number[]

  constructor(shares: Shares, concurrency: number, topics: number) {
    this.#shares = shares
    this.#concurrency = concurrency
    this.#none = Array.from({ length: topics }, () => 0)
    this.#all = [...this.#none]
    this.#depth = new PipelineDepth(concurrency)
  }

  /**
   * Finds the accounts of which slots will soon need an envelope of the topic. Less urgent topics do not count; more urgent
   * ones leave the topic its turns. An account's only envelope is prepared unless too many of its kind are.
   * @returns null for none
   */
  wanted(urgency: number): ((account: Account) => boolean) | null {
    const isUrgent = urgency === 0
    const depth = this.#depth.envelopes
    const wanted = this.#shares.free(isUrgent) + depth
    const ahead = this.#aheadByKind()
    const isQuickWanted = isWanted(ahead.quick, urgency, wanted)
    if (this.#shares.areQuick && !isQuickWanted && sum(ahead.quick) >= wanted + least) return null
    const most = { quick: wanted + least, slow: this.#concurrency, unanswered: this.#concurrency }
    return account => {
      const kind = this.#shares.kindOf(account)
      if (!this.isUnderWay(account) && sum(ahead[kind]) < most[kind]) return true
      const room = this.#shares.room(account, isUrgent)
      if (kind === 'slow') return isWanted(ahead.slow, urgency, room) // they share their slots
      const own = this.#ahead.get(account) ?? this.#none
      if (kind === 'unanswered') return isWanted(own, urgency, room)
      return isQuickWanted && isWanted(own, urgency, room + depth)
    }
  }

  /** Whether the account has an envelope that is not answered. */
  isUnderWay(account: Account): boolean {
    return this.#ahead.has(account) || this.#shares.inFlight(account) > 0
  }

  /** Slot time of an account's envelopes in flight and ahead: the account with the least forms the next envelope. */
  load(account: Account): number {
    return this.#shares.load(account, sum(this.#ahead.get(account) ?? this.#none))
  }

  /** Records that an envelope was formed. */
  formed(account: Account, urgency: number): void {
    const own = this.#ahead.get(account) ?? [...this.#none]
    own[urgency]!++
    this.#all[urgency]!++
    this.#ahead.set(account, own)
  }

  /** Records that an envelope got its slot, or was taken back. */
  left(account: Account, urgency: number): void {
    const own = this.#ahead.get(account)!
    own[urgency]!--
    this.#all[urgency]!--
    if (sum(own) === 0) this.#ahead.delete(account)
  }

  /** Records the milliseconds from forming an envelope to its committed intents. */
  prepared(ms: number): void {
    this.#depth.prepared(ms)
  }

  /** Records the milliseconds for which a request held its slot. */
  sent(account: Account, ms: number): void {
    if (this.#shares.kindOf(account) === 'quick') this.#depth.sent(ms)
  }

  #aheadByKind(): Record<Kind, readonly number[]> {
    if (this.#shares.areQuick) return { quick: this.#all, slow: this.#none, unanswered: this.#none }
    const counts = { quick: [...this.#none], slow: [...this.#none], unanswered: [...this.#none] }
    for (const [account, own] of this.#ahead) {
      const all = counts[this.#shares.kindOf(account)]
      for (const [urgency, count] of own.entries()) all[urgency]! += count
    }
    return counts
  }
}

/** Whether more envelopes of a topic are wanted, given the numbers of those ahead by urgency. */
function isWanted(ahead: readonly number[], urgency: number, wanted: number): boolean {
  return sum(ahead, urgency + 1) < wanted || ahead[urgency]! < Math.ceil(wanted / (mostPassedOver + 1))
}

/** Adds the first counts. */
function sum(counts: readonly number[], first = counts.length): number {
  let total = 0
  for (let i = 0; i < first; i++) total += counts[i]!
  return total
}
