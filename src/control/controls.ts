import type { Clock } from '../clock.ts'
import type { Settings } from '../config/index.ts'
import type { PauseKind, WithdrawalKind } from '../vocabulary/control.ts'
import { type Change, endOf, isOver, keyOf, type Withdrawal } from './change.ts'
import { ControlRoom, type LastChanges, mostBytesInForce, mostInForce } from './last-changes.ts'
import { type QuietHours, quietHoursOf } from './quiet-hours.ts'

/** The properties of a command that pauses and withdrawals refer to. */
export interface Sendable {
  account: string
  idText: string
  correlationId: string | null
  tenant: string | null
  campaign: string | null
}

/** Longest timer: bounds the delay of a pause's end after a clock step or a suspend. */
const longestTimerMs = 60_000

type Changes = Map<string, Change>

/** The queue of commands that wait because withdrawals may be missing. */
const overfullQueue = 'control/overfull'
const overfullText =
  `nothing is sent: there are more than ${mostInForce} pauses and withdrawals, or ${mostBytesInForce / 1024 ** 2} MiB of them, ` +
  'and a withdrawn message could be among the commands; end some (busgate withdraw --end, busgate resume)'

/** What is paused and withdrawn now: by operators through the control topic, and by quiet hours. */
export class Controls {
  readonly #settings: Settings
  readonly #clock: Clock
  /** By account. */
  readonly #quietHours: ReadonlyMap<string, QuietHours>
  readonly #paused: Record<PauseKind, Changes> = {
    topic: new Map(),
    account: new Map(),
    campaign: new Map(),
    tenant: new Map(),
    quiet_hours: new Map(),
  }
  readonly #withdrawn: Record<WithdrawalKind, Map<string, Withdrawal>> = {
    message: new Map(),
    campaign: new Map(),
    correlation_id: new Map(),
    tenant: new Map(),
  }
  /** Bounds the memory, whatever the topic holds. */
  readonly #room = new ControlRoom()
  #isOverfull = false
  readonly #listeners = new Set<(change: Change | null) => void>()
  #cancelTimer = () => {}
  /** Time of the next begin or end, milliseconds since 1970. */
  #looksAt = Number.NEGATIVE_INFINITY

  constructor(settings: Settings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
    const { quietHours } = settings.gateway
    this.#quietHours = new Map([...quietHours].map(([account, windows]) => [account, quietHoursOf(windows)]))
  }

  get hasPauses(): boolean {
    if (this.#isOverfull) return true
    return Object.values(this.#paused).some(({ size }) => size > 0)
  }

  count(...[effect, kind]: ['paused', PauseKind] | ['withdrawn', WithdrawalKind]): number {
    return effect === 'paused' ? this.#paused[kind].size : this.#withdrawn[kind].size
  }

  /** Used share of the room for pauses and withdrawals, 0 to 1. */
  get used(): number {
    return this.#isOverfull ? 1 : this.#room.used
  }

  /** Why nothing is sent: some pauses and withdrawals are not known, since there is no room for them. Null if all are known. */
  get overfull(): string | null {
    return this.#isOverfull ? overfullText : null
  }

  get inForce(): Change[] {
    return [...Object.values(this.#paused), ...Object.values(this.#withdrawn)].flatMap(changes => [...changes.values()])
  }

  /** Key of the pause that applies to a command of this topic, or null. */
  stopping({ account, campaign, tenant }: Sendable, topic: string): string | null {
    if (this.#isOverfull) return overfullQueue
    const paused = this.#paused
    const isUrgent = topic === this.#settings.topics.commands[0]
    const change =
      paused.topic.get(topic) ??
      paused.account.get(account) ??
      (campaign === null ? undefined : paused.campaign.get(campaign)) ??
      (tenant === null ? undefined : paused.tenant.get(tenant)) ??
      (isUrgent ? undefined : paused.quiet_hours.get(account))
    return change ? keyOf(change) : null
  }

  /** Whether its campaign or tenant is paused, so that it waits where it holds up nobody. */
  isSetAside({ campaign, tenant }: Sendable): boolean {
    const { campaign: campaigns, tenant: tenants } = this.#paused
    return (campaign !== null && campaigns.has(campaign)) || (tenant !== null && tenants.has(tenant))
  }

  /** The withdrawal that applies to a command appended at `since`, milliseconds since 1970; null if it may be sent. */
  withdrawing(command: Sendable, since: number): Withdrawal | null {
    const { message, campaign, correlation_id, tenant } = this.#withdrawn
    if (message.size + campaign.size + correlation_id.size + tenant.size === 0) return null // asked for each command
    const own = [
      message.get(`${command.account}/${command.idText}`),
      command.campaign === null ? undefined : campaign.get(command.campaign),
      command.correlationId === null ? undefined : correlation_id.get(command.correlationId),
      command.tenant === null ? undefined : tenant.get(command.tenant),
    ]
    return own.find(one => one && since <= (one.until ?? Number.POSITIVE_INFINITY)) ?? null
  }

  /** Calls back after each change. A pause that expires counts as a change. Null: `overfull` has changed. */
  onChange(listener: (change: Change | null) => void): void {
    this.#listeners.add(listener)
  }

  apply(change: Change): void {
    const known = this.#changesOf(change).get(change.name)
    const isInForce = !isOver(change, this.#settings.commands, this.#clock.now())
    if (isInForce ? known && isSame(known, change) : !known) return
    if (known) this.#room.release(known)
    this.#changesOf(change).delete(change.name)
    if (isInForce && !this.#room.take(change)) {
      this.#setOverfull(true)
      return
    }
    if (isInForce) {
      this.#changesOf(change).set(change.name, change)
      this.#lookAt(this.#endOf(change))
    }
    this.#tell(isInForce ? change : { ...change, begins: false })
  }

  /**
   * Replaces what operators have paused and withdrawn.
   * @param by in whose name missing ones end
   */
  replaceWith(last: LastChanges, by = 'the control topic, which no longer contains it'): void {
    const at = this.#clock.now()
    for (const change of this.inForce) {
      if (change.kind !== 'quiet_hours' && !last.has(change)) this.apply({ ...change, begins: false, by, at })
    }
    for (const change of last) this.apply(change)
    this.#setOverfull(last.isOverfull)
  }

  #setOverfull(isOverfull: boolean): void {
    if (this.#isOverfull === isOverfull) return
    this.#isOverfull = isOverfull
    this.#tell(null)
  }

  #tell(change: Change | null): void {
    for (const listener of this.#listeners) listener(change)
  }

  /** Ends what has expired and begins quiet hours that are due, without waiting for the timer. */
  update(): void {
    if (this.#clock.now() >= this.#looksAt) this.#look()
  }

  close(): void {
    this.#cancelTimer()
  }

  #look(): void {
    const now = this.#clock.now()
    this.#looksAt = Number.POSITIVE_INFINITY
    for (const change of this.inForce) if (this.#endOf(change) <= now) this.apply({ ...change, begins: false })
    for (const change of this.#quietNow(now)) this.apply(change)
    const begins = [...this.#quietHours.values()].map(quiet => quiet.begin(now))
    this.#lookAt(least([...begins, ...this.inForce.map(change => this.#endOf(change))]))
  }

  /** Current quiet hours of each account; recomputed because the clock may have been set. */
  *#quietNow(now: number): Generator<Change> {
    for (const [name, quietHours] of this.#quietHours) {
      const { from = now, to = null } = quietHours.during(now) ?? {}
      const quiet = { effect: 'paused', kind: 'quiet_hours', name, by: 'gateway.quietHours' } as const
      yield { ...quiet, begins: to !== null, at: from, until: to, reason: quietHours.text }
    }
  }

  #changesOf(change: Change): Changes {
    return change.effect === 'paused' ? this.#paused[change.kind] : (this.#withdrawn[change.kind] as Changes)
  }

  #endOf(change: Change): number {
    return endOf(change, this.#settings.commands)
  }

  #lookAt(time: number): void {
    const now = this.#clock.now()
    const at = Math.min(time, now + longestTimerMs)
    if (time === Number.POSITIVE_INFINITY || at >= this.#looksAt) return
    this.#cancelTimer()
    this.#looksAt = at
    this.#cancelTimer = this.#clock.after(at - now, () => this.#look())
  }
}

const least = (times: readonly number[]): number =>
  times.reduce((first, time) => Math.min(first, time), Number.POSITIVE_INFINITY)

/** A reread often delivers known changes. */
function isSame(one: Change, other: Change): boolean {
  return one.at === other.at && one.until === other.until && one.by === other.by && one.reason === other.reason
}
