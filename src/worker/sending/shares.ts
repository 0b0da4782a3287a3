import type { Account } from '../../accounts/account.ts'
import type { Clock } from '../../clock.ts'

export interface SharesOptions {
  /** Most requests in flight. */
  concurrency: number
  /** Number of configured accounts. */
  accounts: number
  /** gateway.timeoutMs */
  timeoutMs: number
  clock: Clock
}

/** A request in flight. */
export interface Slot {
  share: Share
  isUrgent: boolean
  /** Monotonic milliseconds. */
  since: number
}

/** An account is slow if its latest answer took longer than this part of the time-out, or a request in flight does. */
const slowPart = 1 / 10
/** For this many time-outs, an account that was quick is expected back. */
const expectedTimes = 2

/** How an account is answered. `unanswered`: it never was. */
export type Kind = 'quick' | 'slow' | 'unanswered'

/** One account's requests in flight, and what its latest answer tells. */
class Share {
  inFlight = 0
  urgent = 0
  /** Number of requests in flight for longer than a quick answer takes. */
  late = 0
  /** Milliseconds that its latest answer, or time-out, took; null before the first. */
  tookMs: number | null = null
  endedAt = 0
  readonly #quickMs: number

  /** @param quickMs longest time of a quick answer */
  constructor(quickMs: number) {
    this.#quickMs = quickMs
  }

  get isLate(): boolean {
    return this.late > 0 || (this.tookMs ?? 0) > this.#quickMs
  }

  get kind(): Kind {
    if (this.tookMs === null) return 'unanswered'
    return this.isLate ? 'slow' : 'quick'
  }
}

/**
 * Divides the slots among accounts. A request that has begun cannot be taken back, so an account leaves free what others may
 * need before its requests end:
 * - An account that was never answered has one request of the most urgent topic in flight, and one other. All of them may have
 *   them at once: a quick account is one of them until its first answer, so a bound would make it wait for dead ones.
 * - Slow accounts together hold at most half of the slots, or an eighth if another account was quick lately.
 * - A quick account leaves an eighth to accounts without a request in flight.
 * A single account has all slots.
 */
export class Shares {
  readonly #options: SharesOptions
  readonly #quickMs: number
  readonly #eighth: number
  readonly #shares = new Map<Account, Share>()
  /** Requests in flight that are not late, the oldest first. */
  readonly #onTime = new Set<Slot>()
  /** Accounts that were quick lately, the latest answer last. */
  readonly #quick = new Set<Share>()
  #taken = 0
  #urgent = 0
  /** Number of accounts that are not quick. */
  #notQuick: number
  /** Number of accounts without a request in flight, except slow ones. */
  #idle: number
  /** Number of requests in flight of slow accounts. */
  #slow = 0

  constructor(options: SharesOptions) {
    this.#options = options
    this.#quickMs = options.timeoutMs * slowPart
    this.#eighth = Math.max(1, Math.floor(options.concurrency / 8))
    this.#notQuick = options.accounts
    this.#idle = options.accounts
  }

  get taken(): number {
    return this.#taken
  }

  /** Number of slots that are free for a topic, whatever the account. One is reserved for the most urgent topic. */
  free(isUrgent: boolean): number {
    const { concurrency } = this.#options
    const isReserved = !isUrgent && concurrency > 1 && this.#urgent === 0
    return Math.max(0, concurrency - this.#taken - (isReserved ? 1 : 0))
  }

  inFlight(account: Account): number {
    return this.#of(account).inFlight
  }

  /**
   * Slot time of an account's requests in flight and of `more`, in milliseconds. Where accounts compete, the one with the least
   * goes first, so that a slow account does not take the slots of quick ones one by one.
   */
  load(account: Account, more = 0): number {
    const { inFlight, tookMs } = this.#of(account)
    return (inFlight + more) * Math.max(1, tookMs ?? 0)
  }

  /** A single account holds up no others, so it counts as quick. */
  kindOf(account: Account): Kind {
    return this.#areMany ? this.#of(account).kind : 'quick'
  }

  /** Whether all accounts are quick. */
  get areQuick(): boolean {
    return !this.#areMany || this.#notQuick === 0
  }

  /** Whether the account waits for slow answers. */
  isSlowed(account: Account): boolean {
    const { inFlight, isLate } = this.#of(account)
    return inFlight > 0 && isLate
  }

  /** Number of requests that the account may begin now. */
  room(account: Account, isUrgent: boolean): number {
    const free = this.free(isUrgent)
    if (free === 0 || !this.#areMany) return free
    const share = this.#of(account)
    const isFirst = (isUrgent ? share.urgent : share.inFlight - share.urgent) === 0
    const open = Math.max(share.inFlight === 0 ? 1 : 0, free - this.#spare)
    if (share.kind === 'unanswered') return isFirst ? Math.min(1, open) : 0
    return share.kind === 'slow' ? Math.min(open, this.#slowRoom(isFirst)) : open
  }

  begin(account: Account, isUrgent: boolean): Slot {
    const slot = { share: this.#of(account), isUrgent, since: this.#now }
    this.#onTime.add(slot)
    this.#count(slot.share, -1)
    this.#move(slot, 1)
    this.#count(slot.share, 1)
    return slot
  }

  /** @param wasAsked whether the request's first byte was written */
  end(slot: Slot, wasAsked: boolean): void {
    const { share, since } = slot
    this.#count(share, -1)
    this.#move(slot, -1)
    if (!this.#onTime.delete(slot)) share.late--
    if (wasAsked) {
      share.endedAt = this.#now
      share.tookMs = share.endedAt - since
      this.#quick.delete(share)
      if (!share.isLate) this.#quick.add(share)
    }
    this.#count(share, 1)
  }

  /** Notes what time alone has changed: requests that are late, and accounts that are no longer expected back. */
  noteTime(): void {
    const now = this.#now
    for (const slot of this.#onTime) {
      if (now - slot.since <= this.#quickMs) break
      this.#onTime.delete(slot)
      this.#quick.delete(slot.share)
      this.#count(slot.share, -1)
      slot.share.late++
      this.#count(slot.share, 1)
    }
    for (const share of this.#quick) {
      if (now - share.endedAt < expectedTimes * this.#options.timeoutMs) break
      this.#quick.delete(share)
    }
  }

  #move({ share, isUrgent }: Slot, change: 1 | -1): void {
    this.#taken += change
    share.inFlight += change
    if (!isUrgent) return
    this.#urgent += change
    share.urgent += change
  }

  /** Adds an account to the totals, or removes it before it changes. */
  #count({ inFlight, kind }: Share, sign: 1 | -1): void {
    if (kind !== 'quick') this.#notQuick += sign
    if (kind === 'slow') this.#slow += sign * inFlight
    else if (inFlight === 0) this.#idle += sign
  }

  get #areMany(): boolean {
    return this.#options.accounts > 1
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }

  #of(account: Account): Share {
    const known = this.#shares.get(account)
    if (known) return known
    const share = new Share(this.#quickMs)
    this.#shares.set(account, share)
    return share
  }

  /** Number of slots that an account leaves to others without a request in flight. Fewer than three slots are too few for it. */
  get #spare(): number {
    return this.#options.concurrency < 3 ? 0 : Math.min(this.#idle, this.#eighth)
  }

  /** The last slot of slow accounts is for one that has no request in flight. */
  #slowRoom(isFirst: boolean): number {
    const isQuickExpected = this.#quick.size > 0
    const most = isQuickExpected ? this.#eighth : Math.max(1, Math.floor(this.#options.concurrency / 2))
    return Math.max(0, isFirst ? Math.min(1, most - this.#slow) : most - 1 - this.#slow)
  }
}
