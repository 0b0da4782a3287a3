/**
 * Keeps an account's rate in any sliding second, as the gateway counts it. It sleeps nowhere: it says how many operations
 * may go now, or how long to wait. A grant counts without end until its first byte is written; then from that instant,
 * later by as much as its answer took longer than usual, since the gateway may have come to it that much later.
 */

/** What is still uncertain must not make two seconds overlap. */
const marginMs = 20
const secondMs = 1000
/** Requests that wait for the rate carry this part of a second's operations at least, so that they do not become ever smaller. */
const leastPart = 1 / 4
/** How much of the way the usual time of an answer rises towards a longer one; it falls at once. */
const rise = 0.02

export interface Grant {
  operations: number
  /** Monotonic milliseconds of the first byte; null while it has not been written. */
  sentAt: number | null
  /** Monotonic milliseconds of the answer; null while there is none. */
  answeredAt: number | null
}

export class RateLimiter {
  readonly #rate: number
  /** Operations a second beyond which this process does not go, whatever its share. */
  readonly #ceiling: (now: number) => number
  /** The first that was granted stands first. */
  #grants: Grant[] = []
  #used = 0
  #share = 0
  #shareRisesAt = 0
  #nextShare = 0
  /** Milliseconds that an answer takes when nothing holds it up. Unknown at first: then every answer is late. */
  #usual = 0

  /**
   * @param rate operations a second over the whole fleet; Infinity: only the ceiling counts
   * @param ceiling operations a second that this process may use at most
   */
  constructor(rate: number, ceiling: (now: number) => number = () => Number.POSITIVE_INFINITY) {
    this.#rate = rate
    this.#ceiling = ceiling
  }

  /**
   * This process's part of the rate, 0 to 1: the partitions it owns of all there are. What it gains counts a second
   * later: until then the earlier owner's last operations are in the same sliding second.
   */
  setShare(share: number, now: number): void {
    this.#settleShare(now)
    if (share <= this.#share) this.#share = share
    else if (share !== this.#nextShare) this.#shareRisesAt = now + secondMs + marginMs
    this.#nextShare = share
  }

  /** Tells how many operations may be granted now. */
  available(now: number): number {
    this.#settleShare(now)
    this.#expire(now)
    return Math.max(0, this.#perWindow(now) - this.#used)
  }

  /**
   * Milliseconds until something may be granted, as far as can be told now; 0 when now, Infinity without a share.
   * @param wanted operations; a part of the rate is enough
   */
  wait(now: number, wanted = 1): number {
    const enough = Math.min(wanted, Math.max(1, Math.floor(this.#perWindow(now) * leastPart)))
    const available = this.available(now)
    if (available >= enough) return 0
    if (this.#nextShare === 0) return Number.POSITIVE_INFINITY
    if (this.#perWindow(now) === 0) return Math.max(1, this.#shareRisesAt - now)
    const shareRises = this.#nextShare > this.#share ? this.#shareRisesAt : Number.POSITIVE_INFINITY
    const first = Math.min(shareRises, this.#freesAt(enough - available, now))
    return Math.max(1, Math.min(first - now, this.#windowMs(now))) // what has not begun ends no earlier than if it began now
  }

  /** Tells when grants of so many operations will be out of the window. */
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
    this.#used += operations
    return grant
  }

  /** The grant's request was answered, or given up. */
  answered(grant: Grant, now: number): void {
    if (grant.sentAt === null) return
    grant.answeredAt = now
    const took = now - grant.sentAt
    this.#usual = Math.min(took, this.#usual + (took - this.#usual) * rise)
  }

  /** The grant's operations were not sent after all. */
  giveBack(grant: Grant): void {
    const index = this.#grants.indexOf(grant)
    if (index < 0) return
    this.#grants.splice(index, 1)
    this.#used -= grant.operations
  }

  /** Part of the rate that is unused, 0 to 1. */
  headroom(now: number): number {
    const available = this.available(now)
    return Number.isFinite(available) ? available / Math.max(1, this.#perWindow(now)) : 1
  }

  /** Whole operations a window; below one a second the window is longer instead. */
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

  /** Tells when a grant's operations are out of the window; as far as can be told now, when it is not answered yet. */
  #endOf({ sentAt, answeredAt }: Grant, now: number): number {
    if (sentAt === null) return Number.POSITIVE_INFINITY
    const late = (answeredAt ?? now) - sentAt - this.#usual
    return sentAt + Math.min(secondMs, Math.max(0, late)) + this.#windowMs(now)
  }

  #expire(now: number): void {
    const kept = this.#grants.filter(grant => this.#endOf(grant, now) > now)
    if (kept.length === this.#grants.length) return
    this.#grants = kept
    this.#used = kept.reduce((sum, { operations }) => sum + operations, 0)
  }
}
