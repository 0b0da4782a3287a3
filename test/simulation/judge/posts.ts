import { type Change, keyOf } from '../../../src/control/change.ts'
import type { Envelope } from '../gateway.ts'
import type { Owner } from '../scheduler.ts'
import type { Report } from './invariants.ts'
import { type Life, type Lives, nameOf } from './lives.ts'
import type { Progress } from './progress.ts'
import type { Refusals } from './refusals.ts'

export interface PostsOptions {
  now: () => number
  leaseMs: number
  maxAgeMs: number
  /** Milliseconds by which the wall clocks of processes may differ from true time. */
  skewMs: number
  attempts: number
  /** Operations of an account that may begin in any second. */
  rate: number
  /** Milliseconds until a pause takes effect on every process that reads it. */
  pauseMs: number
  /** Since when a process has run and reached the bus without interruption, in milliseconds since 1970. */
  connectedSince: (owner: Owner) => number
}

interface Lease {
  sentAt: number
  until: number
}

interface PostsParts {
  lives: Lives
  progress: Progress
  refusals: Refusals
  report: Report
}

/** Checks POSTs: whether the process may begin them, and how often a command is executed. */
export class Posts {
  readonly counts = { posts: 0, executions: 0, sentAgain: 0 }
  readonly #options: PostsOptions
  readonly #lives: Lives
  readonly #progress: Progress
  readonly #refusals: Refusals
  readonly #report: Report
  readonly #leases = new Map<Owner, Lease>()
  /** Processes that were told to stop. */
  readonly #stopping = new Set<Owner>()
  /** Requests by the key of their account. */
  readonly #begun = new Map<string, { at: number; operations: number }[]>()
  /** When each paused scope was paused. */
  readonly #paused = new Map<string, number>()
  readonly #withdrawn = new Map<string, Change[]>()

  constructor(options: PostsOptions, { lives, progress, refusals, report }: PostsParts) {
    this.#options = options
    this.#lives = lives
    this.#progress = progress
    this.#refusals = refusals
    this.#report = report
  }

  joining(owner: Owner): void {
    this.#leases.delete(owner)
  }

  heartbeatSent(owner: Owner): void {
    const { until = Number.NEGATIVE_INFINITY } = this.#leases.get(owner) ?? {}
    this.#leases.set(owner, { until, sentAt: this.#options.now() })
  }

  heartbeatAnswered(owner: Owner): void {
    const lease = this.#leases.get(owner)
    if (lease) lease.until = lease.sentAt + this.#options.leaseMs
  }

  stopping(owner: Owner): void {
    this.#stopping.add(owner)
  }

  /** Operators pause, resume or withdraw a scope. */
  controlled(change: Change): void {
    const key = keyOf(change)
    if (change.effect === 'withdrawn') this.#withdrawn.set(key, [...(this.#withdrawn.get(key) ?? []), change])
    else if (!change.begins) this.#paused.delete(key)
    else if (!this.#paused.has(key)) this.#paused.set(key, change.at)
  }

  /** A process requests a connection for an envelope. */
  connectionRequested(envelope: Envelope): void {
    for (const life of this.#in(envelope)) life.hasRequestedConnection = true
  }

  /** A process writes the first byte of a request. */
  began(owner: Owner, envelope: Envelope): void {
    this.#checkRate(envelope)
    for (const life of this.#in(envelope)) this.#beganOne(owner, life)
  }

  /** A request is sent to the gateway. @returns a function to call when the gateway receives it */
  inFlight(envelope: Envelope): () => void {
    const lives = this.#in(envelope)
    for (const life of lives) life.inFlight++
    return () => {
      for (const life of lives) life.inFlight--
    }
  }

  executed(phone: number): void {
    const life = this.#lives.withPhone(phone)
    const name = nameOf(life)
    this.counts.executions++
    life.executions++
    const twin = this.#lives.twins(life).find(other => other.executions > 0 && this.#lives.mustRecognise(life, other))
    if (twin) {
      this.#report('at most once', `${name} is executed, and so was ${nameOf(twin)} with the same id`)
    }
    if (life.command.policy === 'AT_MOST_ONCE' && life.executions > 1) {
      this.#report('at most once', `${name} is executed ${life.executions} times under AT_MOST_ONCE`)
    }
    if (life.executions > 1 && life.places.length === 1) {
      this.#report('sent again only in doubt', `${name} is executed again, and was never in doubt`)
    }
    if (life.executions > this.#options.attempts) {
      this.#report('sent again only in doubt', `${name} is executed ${life.executions} times`)
    }
  }

  #in({ data }: Envelope): Life[] {
    return data.flatMap(({ phone }) => (phone === undefined ? [] : [this.#lives.withPhone(phone)]))
  }

  /** The balance is asked for by processes that hold no share of the rate yet, before they join the group. */
  #checkRate({ auth, data: all }: Envelope): void {
    const data = all.filter(({ type }) => type !== 'balance')
    const now = this.#options.now()
    const lastSecond = (this.#begun.get(auth) ?? []).filter(({ at }) => at > now - 1000)
    this.#begun.set(auth, [...lastSecond, { at: now, operations: data.length }])
    const count = lastSecond.reduce((sum, earlier) => sum + earlier.operations, data.length)
    if (count > this.#options.rate) this.#report('no POST above the rate', `${count} operations of ${auth} in a second`)
  }

  #beganOne(owner: Owner, life: Life): void {
    this.counts.posts++
    life.begun++
    if (life.places.length > 1) this.counts.sentAgain++
    const name = nameOf(life)
    if (this.#stopping.has(owner)) this.#report('no POST after a stop', `${owner.name} POSTs ${name}`)
    this.#refusals.began(owner, life)
    this.#checkPause(owner, life)
    this.#checkWithdrawal(owner, life)
    this.#checkAge(life)
    if (life.inFlight > 0)
      this.#report('one POST at a time', `${name} is POSTed while another POST may still be executed`)
    this.#checkLease(owner, life)
  }

  #checkPause(owner: Owner, life: Life): void {
    const { now, pauseMs, connectedSince } = this.#options
    const { plan, topic } = life.command
    const { account, tenant, campaign } = plan
    for (const key of [`topic/${topic}`, `account/${account}`, `tenant/${tenant}`, `campaign/${campaign}`]) {
      const since = this.#paused.get(key)
      if (since === undefined || now() <= Math.max(since, connectedSince(owner)) + pauseMs) continue
      this.#report(
        'no POST during a pause',
        `${owner.name} POSTs ${nameOf(life)}, and ${key} is paused since ${now() - since} ms`,
      )
    }
  }

  #checkWithdrawal(owner: Owner, life: Life): void {
    const { now, pauseMs, connectedSince } = this.#options
    const { plan, publishedAt } = life.command
    for (const key of [`withdrawn/tenant/${plan.tenant}`, `withdrawn/message/${plan.account}/${plan.id}`]) {
      const last = this.#withdrawn.get(key)?.at(-1)
      if (!last || publishedAt > last.until! || now() <= Math.max(last.at, connectedSince(owner)) + pauseMs) continue
      this.#report(
        'no POST after a withdrawal',
        `${owner.name} POSTs ${nameOf(life)}, and ${key} was withdrawn ${now() - last.at} ms before`,
      )
    }
  }

  /** Whether a command was withdrawn so far. */
  isWithdrawn({ command: { plan, publishedAt } }: Life): boolean {
    const keys = [`withdrawn/tenant/${plan.tenant}`, `withdrawn/message/${plan.account}/${plan.id}`]
    const appendedAt = publishedAt - this.#options.skewMs // as a process with a slow clock sees it
    return keys.some(key => this.#withdrawn.get(key)?.some(({ until }) => appendedAt <= until!))
  }

  #checkAge(life: Life): void {
    const { maxAgeMs, skewMs } = this.#options
    const now = this.#options.now() - skewMs
    const { deadline, notBefore, publishedAt } = life.command
    const since = Math.max(publishedAt, notBefore ?? 0)
    const late = (ms: number, than: string) =>
      this.#report('no POST after the deadline', `${nameOf(life)} is POSTed ${ms} ms after ${than}`)
    if (deadline !== null && now > deadline) late(now - deadline, 'its deadline')
    if (now > since + maxAgeMs) late(now - since, 'it was written')
    const early = (notBefore ?? 0) - this.#options.now() - skewMs
    if (early > 0) this.#report('no POST before its time', `${nameOf(life)} is POSTed ${early} ms before its time`)
  }

  #checkLease(owner: Owner, life: Life): void {
    const now = this.#options.now()
    const name = nameOf(life)
    const intents = [...life.places, ...life.copies].filter(place => this.#progress.isIntent(owner, place))
    if (intents.length === 0) {
      this.#report('intent before POST', `${owner.name} POSTs ${name} without a committed intent`)
      return
    }
    const { until = Number.NEGATIVE_INFINITY } = this.#leases.get(owner) ?? {}
    if (now >= until) {
      this.#report('no POST after the lease', `${owner.name} POSTs ${name}, ${now - until} ms after its lease`)
    } else if (!intents.some(place => this.#progress.ownerOf(place) === owner)) {
      const [{ topic, partition }] = intents as [(typeof intents)[0]]
      this.#report('no POST after the lease', `${owner.name} POSTs ${name}, but ${topic}/${partition} is another's`)
    }
  }
}
