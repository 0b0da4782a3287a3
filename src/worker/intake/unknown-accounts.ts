import type { Session } from '../../bus/port.ts'
import { windowSize } from '../../bus/session/window.ts'
import type { Clock } from '../../clock.ts'
import { isAccountName } from '../../config/index.ts'
import { safeText } from '../../telemetry/error.ts'
import { type HeldAccount, heldAccountText, mendText } from '../../vocabulary/holds.ts'

/** A command waits until this many offsets follow it: it must not fill the window, and so stop its partition. */
const mostBehind = (windowSize * 3) / 4
/** With so many further ones it is read again at once: a flood of such commands slows the partition down only by reading twice. */
const tooFarBehind = mostBehind + windowSize / 8
const sweepMs = 1_000
/** Most accounts named in a warning. */
const mostNamed = 5

interface Held {
  account: string
  /** Start of its age, milliseconds since 1970. */
  since: number
}

export interface UnknownAccountsOptions {
  isKnown: (account: string) => boolean
  maxAgeMs: number
  clock: Clock
}

/** Commands of accounts that this process does not know. In a rolling update, other processes may know them. */
export class UnknownAccounts {
  readonly #options: UnknownAccountsOptions
  readonly #holds = new Set<PartitionHold>()

  constructor(options: UnknownAccountsOptions) {
    this.#options = options
  }

  of(session: Session): PartitionHold {
    const hold = new PartitionHold(session, this.#options)
    this.#holds.add(hold)
    return hold
  }

  get #alive(): PartitionHold[] {
    for (const hold of this.#holds) if (!hold.session.alive) this.#holds.delete(hold)
    return [...this.#holds]
  }

  get isHolding(): boolean {
    return this.#alive.some(hold => hold.count > 0)
  }

  /** The first of the accounts whose commands wait. */
  get held(): HeldAccount[] {
    return heldUnknown(this.#alive.flatMap(hold => [...hold.held()]))
  }

  /** What operators should repair; empty if nothing waits. */
  warnings(): string[] {
    return this.held.map(one => `${heldAccountText(one)}. ${mendText(one.reason)}`)
  }

  /** Start of the age of a topic's oldest waiting command, milliseconds since 1970; null if there is none. */
  oldestTimestamp(topic: string): number | null {
    const times = this.#alive.filter(({ session }) => session.topic === topic).flatMap(hold => [...hold.held()])
    return times.length > 0 ? times.reduce((oldest, { since }) => Math.min(oldest, since), Infinity) : null
  }
}

/** The first of these accounts, with the number of commands, or of doubts, that wait with each. */
export function heldUnknown(waiting: readonly { account: string; since: number }[]): HeldAccount[] {
  const accounts = new Map<string, HeldAccount>()
  for (const { account, since } of waiting) {
    const held = accounts.get(account)
    if (held) {
      held.since = Math.min(held.since, since)
      held.waiting++
    } else if (accounts.size < mostNamed) {
      accounts.set(account, { account, since, waiting: 1, reason: 'unknown', probeAt: null, error: null })
    }
  }
  return Array.from(accounts.values(), held => ({ ...held, account: safeText(held.account) }))
}

/** The commands of one partition that wait for their account to be known. They are shelved, so they take no memory. */
export class PartitionHold {
  readonly session: Session
  readonly #options: UnknownAccountsOptions
  readonly #held = new Map<number, Held>()
  /** Offsets of commands that are read again to be settled. */
  readonly #over = new Set<number>()
  #newest = 0
  #cancelSweep: (() => void) | null = null

  constructor(session: Session, options: UnknownAccountsOptions) {
    this.session = session
    this.#options = options
  }

  get count(): number {
    return this.#held.size
  }

  held(): Iterable<Held> {
    return this.#held.values()
  }

  /** Lets a command wait if its account may be known elsewhere. @returns false if it must be settled now */
  takes(account: string, offset: number, since: number): boolean {
    if (this.#over.delete(offset) || this.#options.isKnown(account)) return false
    if (!isAccountName(account) || this.#isTooOld(since)) return false
    this.#held.set(offset, { account, since })
    this.session.shelve([offset])
    this.#cancelSweep ??= this.#options.clock.after(sweepMs, () => this.#sweep())
    return true
  }

  /** The partition was read up to this offset. */
  readTo(newest: number): void {
    this.#newest = Math.max(this.#newest, newest)
    const [oldest = newest] = this.#held.keys()
    if (this.#newest - oldest >= tooFarBehind) this.#sweep()
  }

  /** Reads commands again that have waited long enough. */
  #sweep(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = null
    if (!this.session.alive) return
    const due = [...this.#held].flatMap(([offset, { since }]) =>
      this.#newest - offset >= mostBehind || this.#isTooOld(since) ? offset : [],
    )
    for (const offset of due) {
      this.#held.delete(offset)
      this.#over.add(offset)
    }
    if (due.length > 0) this.session.recall(due)
    if (this.#held.size > 0) this.#cancelSweep = this.#options.clock.after(sweepMs, () => this.#sweep())
  }

  #isTooOld(since: number): boolean {
    return this.#options.clock.now() > since + this.#options.maxAgeMs
  }
}
