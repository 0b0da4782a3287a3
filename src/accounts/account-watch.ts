import { backOffMs } from '../back-off.ts'
import type { Clock } from '../clock.ts'
import { type Settings, variableOf } from '../config/index.ts'
import type { Connection } from '../gateway/connection.ts'
import { safeText } from '../telemetry/error.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { Told } from '../told.ts'
import { heldAccountText, mendText } from '../vocabulary/holds.ts'
import type { Account } from './account.ts'
import { askBalance, type BalanceReading } from './balance.ts'

export interface AccountWatchOptions {
  gateway: Pick<Settings['gateway'], 'errorTexts'> & { url: string }
  connection: Connection
  accounts: ReadonlyMap<string, Account>
  /** Interval of the questions once the gateway is proved; 0: only about accounts that were never answered, or whose key is refused. */
  intervalMs: number
  clock: Clock
  /** 0 to 1; jitter for retries. */
  random: () => number
  telemetry: Telemetry
}

interface Watched {
  account: Account
  /** Monotonic milliseconds of the last question. */
  askedAt: number
  failure: BalanceReading['failure']
}

const firstRetryMs = 1000
const longestRetryMs = 15_000
/** How often an account is looked at for a due question once the gateway is proved. */
const lookMs = 10_000
/** Interval between log lines about a gateway that is not proved. */
const tellMs = 60_000
/** Bounds of a sentence and of a list: there may be thousands of accounts. */
const mostNamed = 3
const mostListed = 100

/**
 * Asks the gateway for the balance of each account. The first definite answer with an accepted key proves the gateway: these
 * settings lead to it, and a role may take partitions. Until then each account is asked with a back-off, without a share of its
 * rate, which only members of the group have. Afterwards the balances are read at an interval, and accounts whose key is
 * refused, or of which nothing was answered, are probed until it is, although they may have nothing to send.
 */
export class AccountWatch {
  /** Resolves once the gateway is proved; rejects when the watch stops before. */
  readonly proved: Promise<void>
  readonly #options: AccountWatchOptions
  readonly #watched: Watched[]
  readonly #settle = Promise.withResolvers<void>()
  readonly #timers = new Map<Watched, () => void>()
  #isProved = false
  #isStopped = false
  readonly #told = new Told(tellMs)

  constructor(options: AccountWatchOptions) {
    this.#options = options
    const askedAt = Number.NEGATIVE_INFINITY
    this.#watched = Array.from(options.accounts.values(), account => ({ account, askedAt, failure: null }))
    this.proved = this.#settle.promise
    this.proved.catch(() => {}) // nobody may wait for it when it stops
    for (const watched of this.#watched) void this.#follow(watched)
  }

  /** Why no account works: the gateway is not proved yet, or it refuses every key. Empty if one may work. */
  reasons(): string[] {
    if (!this.#isProved) return [this.#waitsFor]
    const allRefused = this.#watched.every(({ account }) => account.keyRefused)
    return allRefused ? ['the gateway refuses the keys of all accounts'] : []
  }

  /**
   * Accounts that are held back, and balances that cannot be read otherwise.
   * @param waiting number of an account's commands that wait
   */
  warnings(waiting: (account: string) => number = () => 0): string[] {
    if (!this.#isProved) return []
    const told = this.#watched.flatMap(({ account, failure, askedAt }) => {
      const { heldBack, name, keyPlace, resumedAt } = account
      if (heldBack !== null) {
        const text = heldAccountText({ ...heldBack, waiting: waiting(name) })
        return [`${text}. ${mendText(heldBack.reason, keyPlace)}`]
      }
      if (failure === null || resumedAt > askedAt) return [] // what ended a pause since may have ended the failure, too
      return [`cannot read the balance of account ${name}: ${safeText(failure.error)}`]
    })
    return briefly(told, mostListed)
  }

  get #waitsFor(): string {
    const { url } = this.#options.gateway
    const told = this.#watched.flatMap(({ account: { name, keyPlace }, failure }) => {
      if (!failure) return []
      const mend = failure.reason === 'denied' ? `; put its key into ${keyPlace}` : ''
      return [`account ${name}: ${safeText(failure.error)}${mend}`]
    })
    return (
      `holds no partition until the gateway at ${new URL(url).origin} (gateway.url, ${variableOf('gateway.url')}) ` +
      `accepts a key: ${told.length === 0 ? 'it has not answered yet' : briefly(told, mostNamed).join('; ')}`
    )
  }

  stop(): void {
    this.#isStopped = true
    for (const cancel of this.#timers.values()) cancel()
    this.#settle.reject(new Error('stopped before the gateway was proved'))
  }

  async #follow(watched: Watched): Promise<void> {
    for (let tries = 0; !this.#isStopped; tries++) {
      if (this.#isDue(watched)) await this.#ask(watched)
      if (!this.#isStopped) await this.#pass(watched, this.#waitMs(tries))
    }
  }

  #waitMs(tries: number): number {
    const { intervalMs, random } = this.#options
    if (this.#isProved) return intervalMs > 0 ? Math.min(intervalMs, lookMs) : lookMs
    return backOffMs(firstRetryMs, longestRetryMs, tries + 1) * (0.5 + random() / 2)
  }

  #isDue({ account, askedAt, failure }: Watched): boolean {
    const { intervalMs, clock } = this.#options
    const now = clock.monotonic()
    if (!this.#isProved) return true
    if (account.keyRefused) return account.breaker.admission(now).wait === 0
    if (!account.isHeard) return account.breaker.state === 'closed' && account.hasRate
    const isDue = now - askedAt >= intervalMs || (failure !== null && account.resumedAt > askedAt)
    return intervalMs > 0 && isDue && account.breaker.state === 'closed' && account.hasRate
  }

  async #ask(watched: Watched): Promise<void> {
    const { gateway, clock } = this.#options
    watched.askedAt = clock.monotonic()
    const reading = await askBalance({ ...this.#options, ...gateway }, watched.account)
    if (!this.#isStopped) this.#tell(watched, reading)
  }

  #tell(watched: Watched, { accepted, balance, failure }: BalanceReading): void {
    const { telemetry, clock } = this.#options
    const { name, keyPlace } = watched.account
    const isNews = failure !== null && watched.failure?.reason !== failure.reason
    watched.failure = failure
    if (isNews) telemetry.emit('balance.failed', { account: name, ...failure, keyPlace })
    if (typeof balance?.amount === 'number') {
      const { amount, currency } = balance
      telemetry.emit('balance.read', { account: name, currency: isCode(currency) ? currency : 'other', amount })
    }
    if (this.#isProved) return
    if (accepted) this.#isProvedBy(name)
    else if (this.#told.isNew('unproved', clock.monotonic()))
      telemetry.emit('gateway.unproved', { error: this.#waitsFor })
  }

  #isProvedBy(account: string): void {
    this.#isProved = true
    this.#options.telemetry.emit('gateway.proved', { account })
    this.#settle.resolve()
  }

  #pass(watched: Watched, ms: number): Promise<void> {
    return new Promise(resolve => this.#timers.set(watched, this.#options.clock.after(ms, resolve)))
  }
}

const briefly = (texts: readonly string[], most: number): string[] =>
  texts.length > most ? [...texts.slice(0, most), `and ${texts.length - most} more accounts`] : [...texts]

/** Three letters, as in ISO 4217. Other text is not used as a metric's label. */
const isCode = (currency: unknown): currency is string => typeof currency === 'string' && /^[A-Z]{3}$/.test(currency)
