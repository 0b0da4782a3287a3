import type { Account } from '../../accounts/account.ts'
import type { Clock } from '../../clock.ts'

export interface SharesOptions {
  /** Most requests in flight. */
  concurrency: number
  /** All accounts. */
  accounts: Iterable<Account>
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

/** How an account's commands are answered. `unanswered`: none was yet, but the gateway answered for its balance. */
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
  /** Whether the gateway ever answered for the account. */
  isHeard = false
  readonly #quickMs: number

  /** @param quickMs longest time of a quick answer */
  constructor(quickMs: number) {
    this.#quickMs = quickMs
  }

  get isLate(): boolean {
    return this.late > 0 || (this.tookMs !== null && this.tookMs > this.#quickMs)
  }

  /** Whether nothing at all was answered. */
  get isSilent(): boolean {
    return this.tookMs === null && !this.isHeard
  }

  get kind(): Kind {
    if (this.tookMs === null) return this.isHeard ? 'unanswered' : 'slow'
    return this.isLate ? 'slow' : 'quick'
  }
}

/**
 * Divides the slots among accounts. A request that has begun cannot be taken back, so an account leaves free what others may
 * need before its requests end:
 * - An account without an answered request has one of the most urgent topic in flight, and one other. All those whose balance was
 *   answered may have them at once: a quick account is one of them until its first answer, so a bound would make it wait.
 * - Accounts of which nothing was answered, not even their balance, count as slow; they hold at most an eighth of the slots.
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
  #idle = 0
  /** Number of requests in flight of slow accounts. */
  #slow = 0
  /** Number of those of accounts of which nothing was answered. */
  #silent = 0
  /** Number of such accounts without a request in flight. */
  #silentIdle: number

  constructor(options: SharesOptions) {
    this.#options = options
    this.#quickMs = options.timeoutMs * slowPart
    this.#eighth = Math.max(1, Math.floor(options.concurrency / 8))
    for (const account of options.accounts) this.#shares.set(account, new Share(this.#quickMs))
    this.#notQuick = this.#shares.size
    this.#silentIdle = this.#shares.size
  }

  /** The gateway has answered for the account, though not for its commands. */
  heard(account: Account): void {
    const share = this.#of(account)
    this.#count(share, -1)
    share.isHeard = true
    this.#count(share, 1)
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
    if (share.isSilent) return isFirst ? Math.min(1, open, this.#slowRoom(true), this.#eighth - this.#silent) : 0
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
  #count({ inFlight, kind, isSilent }: Share, sign: 1 | -1): void {
    if (kind !== 'quick') this.#notQuick += sign
    if (isSilent) this.#silent += sign * inFlight
    if (isSilent && inFlight === 0) this.#silentIdle += sign
    if (kind === 'slow') this.#slow += sign * inFlight
    else if (inFlight === 0) this.#idle += sign
  }

  get #areMany(): boolean {
    return this.#shares.size > 1
  }

  get #now(): number {
    return this.#options.clock.monotonic()
  }

  #of(account: Account): Share {
    return this.#shares.get(account)!
  }

  /** Number of slots that an account leaves to others without a request in flight. Fewer than three slots are too few for it. */
  get #spare(): number {
    if (this.#options.concurrency < 3) return 0
    const ofSilent = Math.min(this.#silentIdle, Math.max(0, this.#eighth - this.#slow))
    return Math.min(this.#idle + ofSilent, this.#eighth)
  }

  /** The last slot of slow accounts is for one that has no request in flight. */
  #slowRoom(isFirst: boolean): number {
    const isQuickExpected = this.#quick.size > 0
    const most = isQuickExpected ? this.#eighth : Math.max(1, Math.floor(this.#options.concurrency / 2))
    return Math.max(0, isFirst ? Math.min(1, most - this.#slow) : most - 1 - this.#slow)
  }
}
