/**
 * Keeps an account's rate within any sliding second, as the gateway counts it. Never sleeps: returns how many operations may
 * go now, or how long to wait. A grant counts from its first byte; until then it counts without end. If its answer is slower
 * than usual, it counts longer by the difference, because the gateway may have processed it that much later.
 */

/** Safety margin between adjacent windows. */
const marginMs = 20
const secondMs = 1000
/**
 * Requests that wait for the rate carry at least this fraction of a second's operations, so that they do not become ever
 * smaller.
 */
const leastPart = 1 / 4
/** Fraction by which the usual answer time rises towards a slower answer; it falls at once. */
const rise = 0.02

export interface Grant {
  operations: number
  /** Monotonic milliseconds of the first byte; null until it is written. */
  sentAt: number | null
  /** Monotonic milliseconds of the answer; null until it arrives. */
  answeredAt: number | null
}

export class RateLimiter {
  readonly #rate: number
  /** Most operations a second of this process, whatever its share. */
  readonly #ceiling: (now: number) => number
  #grants: Grant[] = []
  #share = 0
  #shareRisesAt = 0
  #nextShare = 0
  /** Milliseconds that an answer takes without delays. 0 at first, so that every answer counts as late. */
  #usual = 0

  /**
   * @param rate operations a second over the whole fleet; Infinity if only the ceiling applies
   * @param ceiling most operations a second of this process
   */
  constructor(rate: number, ceiling: (now: number) => number = () => Number.POSITIVE_INFINITY) {
    this.#rate = rate
    this.#ceiling = ceiling
  }

  /**
   * Sets this process's share of the rate, 0 to 1: its owned partitions by all partitions. An increase takes effect a second
   * later, when the previous owner's operations have left the sliding second.
   */
  setShare(share: number, now: number): void {
    this.#settleShare(now)
    if (share <= this.#share) this.#share = share
    else if (share !== this.#nextShare) this.#shareRisesAt = now + secondMs + marginMs
    this.#nextShare = share
  }

  available(now: number): number {
    this.#settleShare(now)
    this.#grants = this.#grants.filter(grant => this.#endOf(grant, now) > now)
    const used = this.#grants.reduce((sum, { operations }) => sum + operations, 0)
    return Math.max(0, this.#perWindow(now) - used)
  }

  /**
   * Milliseconds until operations may be granted, as an estimate; 0 for now, Infinity without a share.
   * @param wanted number of operations; part of the rate may be enough
   */
  wait(now: number, wanted = 1): number {
    const enough = Math.min(wanted, Math.max(1, Math.floor(this.#perWindow(now) * leastPart)))
    const available = this.available(now)
    if (available >= enough) return 0
    if (this.#nextShare === 0) return Number.POSITIVE_INFINITY
    if (this.#perWindow(now) === 0) return Math.max(1, this.#shareRisesAt - now)
    const shareRises = this.#nextShare > this.#share ? this.#shareRisesAt : Number.POSITIVE_INFINITY
    const first = Math.min(shareRises, this.#freesAt(enough - available, now))
    // a grant that has not begun ends no earlier than one that begins now
    return Math.max(1, Math.min(first - now, this.#windowMs(now)))
  }

  /** When grants of this many operations will have left the window. */
  #freesAt(operations: number, now: number): number {
    const grants = this.#grants.map(grant => ({ endsAt: this.#endOf(grant, now), operations: grant.operations }))
    let missing = operations
    for (const grant of grants.sort((a, b) => a.endsAt - b.endsAt)) {
      missing -= grant.operations
      if (missing <= 0) return grant.endsAt
    }
    return Number.POSITIVE_INFINITY
  }

  grant(operations: number): Grant {
    const grant = { operations, sentAt: null, answeredAt: null }
    this.#grants.push(grant)
    return grant
  }

  /** The grant's request was answered or given up. */
  answered(grant: Grant, now: number): void {
    if (grant.sentAt === null) return
    grant.answeredAt = now
    const took = now - grant.sentAt
    this.#usual = Math.min(took, this.#usual + (took - this.#usual) * rise)
  }

  /** The grant's operations were not sent. */
  giveBack(grant: Grant): void {
    this.#grants = this.#grants.filter(one => one !== grant)
  }

  /** Unused fraction of the rate, 0 to 1. */
  headroom(now: number): number {
    const available = this.available(now)
    return Number.isFinite(available) ? available / Math.max(1, this.#perWindow(now)) : 1
  }

  /** Whole operations per window; below one a second, the window is longer instead. */
  #perWindow(now: number): number {
    const rate = this.#ownRate(now)
    if (rate === Number.POSITIVE_INFINITY) return rate
    return rate >= 1 ? Math.floor(rate + 1e-9) : rate > 0 ? 1 : 0
  }

  /** Operations a second. */
  #ownRate(now: number): number {
    const share = this.#rate === Number.POSITIVE_INFINITY ? this.#rate : this.#rate * this.#share
    return Math.min(share, this.#ceiling(now))
  }

  #windowMs(now: number): number {
    const rate = this.#ownRate(now)
    return (rate >= 1 ? secondMs : secondMs / rate) + marginMs
  }

  #settleShare(now: number): void {
    if (this.#nextShare > this.#share && now >= this.#shareRisesAt) this.#share = this.#nextShare
  }

  /** When a grant leaves the window; an estimate until it is answered. */
  #endOf({ sentAt, answeredAt }: Grant, now: number): number {
    if (sentAt === null) return Number.POSITIVE_INFINITY
    const late = (answeredAt ?? now) - sentAt - this.#usual
    return sentAt + Math.min(secondMs, Math.max(0, late)) + this.#windowMs(now)
  }
}
