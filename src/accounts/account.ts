import type { Clock } from '../clock.ts'
import { keyPlaceOf, type Settings } from '../config/index.ts'
import { acceptsKey, type Classified, type ItemAnswer } from '../gateway/classify.ts'
import { safeText } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { PauseReason, RetryReason } from '../telemetry/labels.ts'
import type { HeldAccount } from '../vocabulary/holds.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import { learntRate } from './learnt-rate.ts'
import { type Grant, RateLimiter } from './limiter.ts'

export interface AccountOptions {
  name: string
  /** The current key; its file may change. */
  apiKey: () => string
  /** Where the key is set, for people. */
  keyPlace: string
  /** Operations a second over the whole fleet; undefined for no limit. */
  rate: number | undefined
  /** Whether it has status polls alone, and no commands. Default false. */
  isPolled?: boolean
  clock: Clock
  /** 0 to 1; jitter for pauses. */
  random: () => number
  telemetry: Telemetry
}

/** Log text for an unknown refusal. The gateway's own text may contain a message or a phone, so it is never logged. */
export const refusedForNoKnownReason = 'envelopes are refused as a whole with an unknown text'

/**
 * The content of a request. `suspect`: a single command that was refused alone before, for an unknown reason. `polls`: status
 * polls.
 */
export type RequestKind = 'commands' | 'suspect' | 'polls' | 'balance'

/** Permission for one request to the gateway. */
export interface Permit {
  operations: number
  /** Whether the request is the probe that ends or extends the account's pause. */
  probe: boolean
  grant: Grant | null
  carries: RequestKind
  /** The key at the time of the permit. */
  apiKey: string
  /** Monotonic milliseconds of the first byte; null until it is written. */
  begunAt: number | null
}

/**
 * If at most one operation of an envelope, or this share of it, is throttled, the gateway throttles their recipients, not the
 * account.
 */
const recipientsPart = 1 / 10

/** One account of the gateway: decides when the next request may be sent, and learns from the answers. */
export class Account {
  readonly name: string
  readonly apiKey: () => string
  readonly keyPlace: string
  readonly breaker: CircuitBreaker
  /** Holds back status polls. They fail on their own account: what refuses or loses them need not concern commands. */
  readonly polls: CircuitBreaker
  /** null if no rate is configured or learnt. */
  limiter: RateLimiter | null
  /** Start of the latest command envelope that was answered normally, in monotonic milliseconds. */
  passedAt = Number.NEGATIVE_INFINITY
  /** Time of the last pause due to refused envelopes, in monotonic milliseconds. */
  refusedAt = Number.NEGATIVE_INFINITY
  /** Error of the request that last extended the pause. */
  #pausedBy = ''
  /** Begin of the pauses, milliseconds since 1970. */
  #heldSince = 0
  #pollsHeldSince = 0
  /** When the last pause ended, in monotonic milliseconds. */
  resumedAt = Number.NEGATIVE_INFINITY
  /** Whether the gateway's last definite answer refused the key. */
  keyRefused = false
  readonly #heard = Promise.withResolvers<void>()
  /** Whether the gateway has answered for its balance. */
  isHeard = false
  readonly #learnt = learntRate()
  readonly #isPolled: boolean
  readonly #clock: Clock
  readonly #telemetry: Telemetry
  /** Since when a request has waited for the rate, in monotonic milliseconds. */
  #waitsSince: number | null = null

  constructor({ name, apiKey, keyPlace, rate, isPolled = false, clock, random, telemetry }: AccountOptions) {
    this.name = name
    this.apiKey = apiKey
    this.keyPlace = keyPlace
    this.breaker = new CircuitBreaker(random)
    this.polls = new CircuitBreaker(random)
    this.limiter = rate === undefined ? null : this.#limiterOf(rate)
    this.#isPolled = isPolled
    this.#clock = clock
    this.#telemetry = telemetry
  }

  /** Resolves when the gateway answers for its balance for the first time, whatever it answers. */
  get heard(): Promise<void> {
    return this.#heard.promise
  }

  hear(): void {
    this.isHeard = true
    this.#heard.resolve()
  }

  #limiterOf(rate: number): RateLimiter {
    return new RateLimiter(rate, now => this.#learnt.limit(now))
  }

  /** Why and since when the account is held back; null if it is not. */
  get heldBack(): Omit<HeldAccount, 'waiting'> | null {
    const error = this.breaker.reason === 'unreachable' ? safeText(this.#pausedBy) : null
    return this.#heldBy(this.breaker, this.#heldSince, error)
  }

  /** The same for its status polls. */
  get pollsHeldBack(): Omit<HeldAccount, 'waiting'> | null {
    return this.#heldBy(this.polls, this.#pollsHeldSince, null)
  }

  #heldBy(breaker: CircuitBreaker, since: number, error: string | null) {
    const { reason } = breaker
    if (reason === null) return null
    const { wait } = breaker.admission(this.#clock.monotonic())
    return {
      account: this.name,
      reason,
      since,
      probeAt: Number.isFinite(wait) ? this.#clock.now() + wait : null,
      error,
    }
  }

  /** Operations a second that throttling has left this process; Infinity if it was not throttled lately. */
  get learntRate(): number {
    return this.#learnt.limit(this.#clock.monotonic())
  }

  /**
   * Milliseconds until a request may be sent: 0 if it may now, Infinity while a probe is in flight.
   * @param wanted number of operations to send
   */
  wait(wanted = 1): number {
    const now = this.#clock.monotonic()
    const admission = this.breaker.admission(now)
    const wait = this.limiter?.wait(now, Math.min(wanted, admission.operations)) ?? 0
    if (wait > 0) this.#waitsSince ??= now
    return Math.max(admission.wait, wait)
  }

  /** Whether a request may be sent now. Unlike `wait`, starts no measurement of the waiting time. */
  get maySend(): boolean {
    const now = this.#clock.monotonic()
    return this.breaker.admission(now).wait === 0 && this.hasRate
  }

  /** Whether the rate allows a request now, whatever the breaker says. */
  get hasRate(): boolean {
    return this.limiter?.available(this.#clock.monotonic()) !== 0
  }

  room(): number {
    const now = this.#clock.monotonic()
    return Math.min(this.breaker.admission(now).operations, this.limiter?.available(now) ?? Number.POSITIVE_INFINITY)
  }

  /** As `wait`, for a status poll. It waits for its own failures, for throttling, and for the rate. */
  get pollWait(): number {
    const now = this.#clock.monotonic()
    const throttled = this.breaker.reason === 'throttled' ? this.breaker.admission(now).wait : 0
    return Math.max(this.polls.admission(now).wait, throttled, this.limiter?.wait(now) ?? 0)
  }

  /** Most operations of a status poll. */
  get pollRoom(): number {
    const now = this.#clock.monotonic()
    return Math.min(this.polls.admission(now).operations, this.limiter?.available(now) ?? Number.POSITIVE_INFINITY)
  }

  /**
   * Permits a request that is about to be sent: reserves its operations in the rate limit, and makes it the probe if one is
   * due.
   */
  permit(operations: number, carries: RequestKind = 'commands'): Permit {
    if (this.#waitsSince !== null) {
      const seconds = (this.#clock.monotonic() - this.#waitsSince) / 1000
      this.#telemetry.emit('rate.waited', { account: this.name, seconds })
      this.#waitsSince = null
    }
    const grant = this.limiter?.grant(operations) ?? null
    return {
      operations,
      probe: this.#breakerOf(carries).permit(),
      grant,
      carries,
      apiKey: this.apiKey(),
      begunAt: null,
    }
  }

  #breakerOf(carries: RequestKind): CircuitBreaker {
    return carries === 'polls' ? this.polls : this.breaker
  }

  /** Whether a permitted request may still be sent: the account has not paused since. */
  admits({ probe }: Permit): boolean {
    return probe || this.breaker.state === 'closed'
  }

  /** Records that the request's first byte is about to be written. */
  begun(permit: Permit): void {
    permit.begunAt = this.#clock.monotonic()
    if (permit.grant) permit.grant.sentAt = permit.begunAt
  }

  /** Cancels a permit whose request was not made, for a reason unrelated to the account. */
  returnPermit({ probe, grant, carries }: Permit): void {
    if (grant?.sentAt === null) this.limiter?.giveBack(grant)
    this.#breakerOf(carries).returnPermit(probe)
  }

  /**
   * Learns from the outcome of a request with commands.
   * @param repeated number of operations throttled again: a repeat points to the recipient's limit, not to the account's rate
   */
  observe(permit: Permit, classified: Classified, repeated = 0): void {
    this.answered(permit)
    const items = 'items' in classified ? classified.items : []
    const throttled = items.filter(isThrottled).length
    if (classified.outcome === 'answered') this.#learnt.passed(items.length - throttled, this.#clock.monotonic())
    const areRecipients = throttled - repeated <= Math.max(1, items.length * recipientsPart)
    if (areRecipients || throttled < items.length) this.#learn(permit, classified) // if all were throttled, nothing passed: nothing is learnt
    if (throttled === 0) return
    if (areRecipients) this.#telemetry.emit('gateway.retry', { reason: 'throttled', count: throttled })
    else this.#pause({ ...permit, operations: throttled }, 'throttled', 'operations above the rate')
  }

  /**
   * Learns from the outcome of a status poll that was not withheld. A failed one holds back only polls. Of an
   * account without commands, a refused poll tells of the key.
   * @param isAnswered whether it told something of a message
   */
  observePoll(permit: Permit, classified: Classified, isAnswered: boolean): void {
    this.answered(permit)
    const failure = isAnswered && classified.outcome === 'refused' ? null : pollFailure(classified)
    const { probe, grant } = permit
    const now = this.#clock.monotonic()
    if (failure?.reason === 'denied' && this.#isPolled) this.keyRefused = true
    if (failure === null) {
      this.polls.passed(probe)
      if (this.breaker.pollAnswered(now)) this.#resumed()
    } else {
      if (grant?.sentAt === null) this.limiter?.giveBack(grant)
      const { reason, error, retryAfterMs = null } = failure
      const retryInMs =
        reason === 'undecided' || reason === 'refused'
          ? this.polls.failed(reason, probe, now)
          : this.polls.pause(reason, probe, now, retryAfterMs)
      if (retryInMs === null) return
      if (!probe) this.#pollsHeldSince = this.#clock.now()
      const { name: account, keyPlace } = this
      this.#telemetry.emit('polls.paused', { account, reason, retryInMs, error, keyPlace })
    }
  }

  /** Records the end of a request that says nothing about the account. */
  answered({ grant }: Permit): void {
    if (grant) this.limiter?.answered(grant, this.#clock.monotonic())
  }

  #learn(permit: Permit, classified: Classified): void {
    if (classified.outcome === 'refused' && !classified.known) this.#refused(permit)
    else if (classified.outcome === 'answered' || classified.outcome === 'refused' || isDecided(classified)) {
      this.#passed(permit, classified)
    } else if (classified.outcome === 'denied') {
      this.keyRefused = true
      this.#pause(permit, 'denied', classified.error)
    } else if (classified.outcome === 'unknown') {
      const retryInMs = this.breaker.failed('undecided', permit.probe, this.#clock.monotonic())
      if (retryInMs !== null) this.#announcePause(permit, 'undecided', retryInMs, classified.error)
    } else if (classified.reason === 'withheld') {
      this.returnPermit(permit)
    } else {
      if (permit.grant?.sentAt === null) this.limiter?.giveBack(permit.grant)
      this.#pause(permit, classified.reason, classified.error, classified.retryAfterMs)
    }
  }

  #passed({ probe, carries, begunAt }: Permit, classified: Classified): void {
    const asks = carries === 'balance'
    if (acceptsKey(classified)) this.keyRefused = false
    if (!asks && classified.outcome !== 'refused') this.passedAt = Math.max(this.passedAt, begunAt ?? this.passedAt)
    const resumed = asks ? this.breaker.balanceAnswered(probe) : this.breaker.passed(probe)
    if (resumed) this.#resumed()
  }

  #resumed(): void {
    this.resumedAt = this.#clock.monotonic()
    this.#telemetry.emit('account.resumed', { account: this.name })
  }

  /**
   * Handles an envelope refused with an unknown text. A refused suspect holds the account back only if it was its probe.
   */
  #refused(permit: Permit): void {
    const { probe, operations, carries } = permit
    if (carries !== 'balance') this.#telemetry.emit('gateway.retry', { reason: 'refused', count: operations })
    if (!probe && carries !== 'commands') return
    const now = this.#clock.monotonic()
    const retryInMs = this.breaker.failed('refused', probe, now)
    if (retryInMs === null) return
    this.refusedAt = now
    this.#announcePause(permit, 'refused', retryInMs, refusedForNoKnownReason)
  }

  #pause(permit: Permit, reason: RetryReason, error: string, retryAfterMs: number | null = null): void {
    this.#telemetry.emit('gateway.retry', { reason, count: permit.operations })
    const now = this.#clock.monotonic()
    if (reason === 'throttled') this.#slowDown(permit, now)
    const retryInMs = this.breaker.pause(reason, permit.probe, now, retryAfterMs)
    if (retryInMs !== null) this.#announcePause(permit, reason, retryInMs, error)
  }

  #slowDown({ operations, begunAt }: Permit, now: number): void {
    this.#learnt.throttled(operations, begunAt ?? now, now)
    if (this.limiter) return
    this.limiter = this.#limiterOf(Number.POSITIVE_INFINITY)
    this.limiter.setShare(1, now)
  }

  /** A balance that probes again and again, although nothing waits to be sent, reports each cause once. */
  #announcePause({ probe, carries }: Permit, reason: PauseReason, retryInMs: number, error: string): void {
    const { name, keyPlace } = this
    if (!probe) this.#heldSince = this.#clock.now()
    if (probe && carries === 'balance' && error === this.#pausedBy) return
    this.#pausedBy = error
    this.#telemetry.emit('account.paused', { account: name, reason, retryInMs, error, keyPlace })
  }
}

/** The configured accounts by name. @param options `rate` replaces their own rates */
export function accountsOf(
  { gateway }: Settings,
  options: Pick<AccountOptions, 'clock' | 'random' | 'telemetry' | 'isPolled'> & { rate?: number },
): Map<string, Account> {
  const accounts = [...gateway.accounts].map(
    ([name, settings]) =>
      new Account({
        ...options,
        name,
        apiKey: () => settings.apiKey.reveal(),
        keyPlace: keyPlaceOf(name, settings),
        rate: options.rate ?? settings.rate,
      }),
  )
  return new Map(accounts.map(account => [account.name, account]))
}

/** Divides each account's rate among the processes in proportion to the partitions that each owns. */
export function shareRates(
  accounts: ReadonlyMap<string, Account>,
  { owned, total }: { owned: number; total: number },
  now: number,
): void {
  for (const { limiter } of accounts.values()) limiter?.setShare(total > 0 ? owned / total : 0, now)
}

export const isThrottled = (answer: ItemAnswer): boolean => answer.kind === 'refused' && answer.code === 'THROTTLED'

/** Whether every item was matched by its id, whatever else was wrong with the answer. */
function isDecided(classified: Classified): boolean {
  return classified.outcome === 'unknown' && classified.items.every(({ kind }) => kind !== 'in_doubt')
}

interface PollFailure {
  reason: PauseReason
  error: string
  retryAfterMs?: number | null
}

/** Why a status poll was not answered; null if it was. */
function pollFailure(classified: Classified): PollFailure | null {
  if (classified.outcome === 'answered') {
    return classified.items.every(isThrottled) ? { reason: 'throttled', error: 'status polls above the rate' } : null
  }
  const { outcome, error } = classified
  if (outcome === 'refused') return classified.known ? null : { reason: 'refused', error: refusedForNoKnownReason }
  if (outcome === 'denied') return { reason: 'denied', error }
  if (outcome === 'unknown') return isDecided(classified) ? null : { reason: 'undecided', error }
  return { ...classified, reason: classified.reason as Exclude<typeof classified.reason, 'withheld'> }
}
