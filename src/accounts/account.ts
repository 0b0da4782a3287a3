import type { Clock } from '../clock.ts'
import type { Classified, ItemAnswer } from '../gateway/classify.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { PauseReason, RetryReason } from '../telemetry/labels.ts'
import { AccountGate, type Admission } from './gate.ts'
import { LearntRate } from './learnt-rate.ts'
import { type Grant, RateLimiter } from './limiter.ts'

export interface AccountOptions {
  name: string
  /** The key as it is now: its file may have changed. */
  apiKey: () => string
  /** Operations a second over the whole fleet; undefined: as many as the gateway takes. */
  rate: number | undefined
  clock: Clock
  /** 0 to 1, spreads pauses. */
  random: () => number
  telemetry: Telemetry
}

/** The text itself is anything that the gateway likes to say, a message or a phone included, so that no log may show it. */
export const refusedForNoKnownReason = 'envelopes are refused as a whole with a text that is not known'

/** RequestKind is what a request carries. A suspect: one command that was refused alone before, nobody knows why. */
export type RequestKind = 'commands' | 'suspect' | 'questions'

/** Allows one request to the gateway. */
export interface Permit {
  operations: number
  /** Whether the request's outcome decides about the account's pause. */
  probe: boolean
  grant: Grant | null
  carries: RequestKind
  /** The key as it was when the permit was given. */
  apiKey: string
  /** Monotonic milliseconds of the first byte; null while it has not been written. */
  begunAt: number | null
}

/** Gateways throttle single recipients, too: one operation of an envelope, or this part of it, says nothing of the rate. */
const recipientsPart = 1 / 10
/** While a key is denied, it is looked this often whether its file has another one. */
const keyLookMs = 2_000

/** One account of the gateway: when the next request may be sent, and what the answers mean for the ones after it. */
export class Account {
  readonly name: string
  readonly apiKey: () => string
  readonly gate: AccountGate
  /** null: no rate is set, and none was learnt. */
  limiter: RateLimiter | null
  /** Monotonic milliseconds: when the last of the envelopes of commands began that were answered normally. */
  passedAt = Number.NEGATIVE_INFINITY
  /** Monotonic milliseconds: when it last paused, for all commands, because envelopes are refused as a whole. */
  refusedAt = Number.NEGATIVE_INFINITY
  readonly #learnt = new LearntRate()
  readonly #clock: Clock
  readonly #telemetry: Telemetry
  /** The key that the gateway denied last. */
  #deniedKey: string | null = null
  /** Monotonic milliseconds: since when a request waits for the rate. */
  #waitsSince: number | null = null

  constructor({ name, apiKey, rate, clock, random, telemetry }: AccountOptions) {
    this.name = name
    this.apiKey = apiKey
    this.gate = new AccountGate(random)
    this.limiter = rate === undefined ? null : this.#limiterOf(rate)
    this.#clock = clock
    this.#telemetry = telemetry
  }

  #limiterOf(rate: number): RateLimiter {
    return new RateLimiter(rate, now => this.#learnt.limit(now))
  }

  /** Operations a second that throttling answers have left this process; Infinity: none came lately. */
  get learntRate(): number {
    return this.#learnt.limit(this.#clock.monotonic())
  }

  /**
   * Milliseconds until a request may be sent: 0 when now, Infinity while a probe is on its way.
   * @param wanted operations that it is to carry
   */
  wait(wanted = 1): number {
    const now = this.#clock.monotonic()
    const admission = this.#admission(now)
    const wait = this.limiter?.wait(now, Math.min(wanted, admission.operations)) ?? 0
    if (wait > 0) this.#waitsSince ??= now
    return Math.max(admission.wait, wait)
  }

  /** Tells whether a request may leave now. Unlike `wait`, it does not count as waiting for the rate. */
  get mayGo(): boolean {
    const now = this.#clock.monotonic()
    return this.#admission(now).wait === 0 && this.limiter?.available(now) !== 0
  }

  /** Tells how many operations a request may carry that leaves now. */
  room(): number {
    const now = this.#clock.monotonic()
    return Math.min(this.#admission(now).operations, this.limiter?.available(now) ?? Number.POSITIVE_INFINITY)
  }

  /** A request is about to be sent: takes what it needs of the rate, and the probe if it is that. */
  permit(operations: number, carries: RequestKind = 'commands'): Permit {
    if (this.#waitsSince !== null) {
      const seconds = (this.#clock.monotonic() - this.#waitsSince) / 1000
      this.#telemetry.emit('rate.waited', { account: this.name, seconds })
      this.#waitsSince = null
    }
    const grant = this.limiter?.grant(operations) ?? null
    return { operations, probe: this.gate.permit(), grant, carries, apiKey: this.apiKey(), begunAt: null }
  }

  /** What the gate admits. Another key than the one that was denied is tried at once. */
  #admission(now: number): Admission {
    if (this.gate.state !== 'paused' || this.gate.reason !== 'denied') return this.gate.admission(now)
    if (this.apiKey() !== this.#deniedKey) this.gate.endPause(now)
    const { wait, operations } = this.gate.admission(now)
    return { wait: Math.min(wait, keyLookMs), operations }
  }

  /** Tells whether a request that has a permit may still go: the account has not paused since. */
  admits({ probe }: Permit): boolean {
    return probe || this.gate.state === 'closed'
  }

  /** The request's first byte is about to be written. */
  begun(permit: Permit): void {
    permit.begunAt = this.#clock.monotonic()
    if (permit.grant) permit.grant.sentAt = permit.begunAt
  }

  /** The request was never made, for a reason that says nothing about the account. */
  withdraw({ probe, grant }: Permit): void {
    if (grant?.sentAt === null) this.limiter?.giveBack(grant)
    this.gate.withdraw(probe)
  }

  /**
   * Learns from what a request came to.
   * @param repeated operations that were throttled before and are again: their recipients are, however slow the account
   */
  observe(permit: Permit, classified: Classified, repeated = 0): void {
    this.answered(permit)
    const items = 'items' in classified ? classified.items : []
    const throttled = items.filter(isThrottled).length
    if (classified.outcome === 'answered') this.#learnt.passed(items.length - throttled, this.#clock.monotonic())
    const areRecipients = throttled - repeated <= Math.max(1, items.length * recipientsPart)
    if (areRecipients || throttled < items.length) this.#learn(permit, classified) // else nothing has passed
    if (throttled === 0) return
    if (areRecipients) this.#telemetry.emit('gateway.retry', { reason: 'throttled', count: throttled })
    else this.#pause({ ...permit, operations: throttled }, 'throttled', 'operations above the rate')
  }

  /** The request came to its end, in a way that says nothing about the account. */
  answered({ grant }: Permit): void {
    if (grant) this.limiter?.answered(grant, this.#clock.monotonic())
  }

  #learn(permit: Permit, classified: Classified): void {
    if (classified.outcome === 'refused' && !classified.known) this.#refused(permit)
    else if (classified.outcome === 'answered' || classified.outcome === 'refused' || isDecided(classified)) {
      this.#passed(permit, classified)
    } else if (classified.outcome === 'denied') {
      this.#deniedKey = permit.apiKey
      this.#pause(permit, 'denied', classified.error)
    } else if (classified.outcome === 'unknown') {
      const retryInMs = this.gate.undecided(permit.probe, this.#clock.monotonic())
      if (retryInMs !== null) this.#announcePause('undecided', retryInMs, classified.error)
    } else if (classified.reason === 'withheld') {
      this.withdraw(permit)
    } else {
      if (permit.grant?.sentAt === null) this.limiter?.giveBack(permit.grant)
      this.#pause(permit, classified.reason, classified.error, classified.retryAfterMs)
    }
  }

  #passed({ probe, carries, begunAt }: Permit, { outcome }: Classified): void {
    const asks = carries === 'questions'
    if (!asks && outcome !== 'refused') this.passedAt = Math.max(this.passedAt, begunAt ?? this.passedAt)
    const resumed = asks ? this.gate.pollAnswered(probe) : this.gate.passed(probe)
    if (resumed) this.#telemetry.emit('account.resumed', { account: this.name })
  }

  /** Refused as a whole, with a text that nobody knows. Questions and suspects that are refused tell only as the probe. */
  #refused({ probe, operations, carries }: Permit): void {
    if (carries !== 'questions') this.#telemetry.emit('gateway.retry', { reason: 'refused', count: operations })
    if (!probe && carries !== 'commands') return
    const now = this.#clock.monotonic()
    const retryInMs = this.gate.refused(probe, now)
    if (retryInMs === null) return
    this.refusedAt = now
    this.#announcePause('refused', retryInMs, refusedForNoKnownReason)
  }

  #pause(permit: Permit, reason: RetryReason, error: string, retryAfterMs: number | null = null): void {
    this.#telemetry.emit('gateway.retry', { reason, count: permit.operations })
    const now = this.#clock.monotonic()
    if (reason === 'throttled') this.#slowDown(permit, now)
    const retryInMs = this.gate.pause(reason, permit.probe, now, retryAfterMs)
    if (retryInMs !== null) this.#announcePause(reason, retryInMs, error)
  }

  #slowDown({ operations, begunAt }: Permit, now: number): void {
    this.#learnt.throttled(operations, begunAt ?? now, now)
    if (this.limiter) return
    this.limiter = this.#limiterOf(Number.POSITIVE_INFINITY)
    this.limiter.setShare(1, now)
  }

  #announcePause(reason: PauseReason, retryInMs: number, error: string): void {
    this.#telemetry.emit('account.paused', { account: this.name, reason, retryInMs, error })
  }
}

/** Each account's rate is shared by the processes that own partitions, in proportion to how many each owns. */
export function shareRates(
  accounts: ReadonlyMap<string, Account>,
  { owned, total }: { owned: number; total: number },
  now: number,
): void {
  for (const { limiter } of accounts.values()) limiter?.setShare(total > 0 ? owned / total : 0, now)
}

export const isThrottled = (answer: ItemAnswer): boolean => answer.kind === 'refused' && answer.code === 'THROTTLED'

/** Tells whether every item could be told by its id, whatever else was wrong with the answer. */
function isDecided(classified: Classified): boolean {
  return classified.outcome === 'unknown' && classified.items.every(({ kind }) => kind !== 'in_doubt')
}
