import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import { expiry, hasPaused, type Pending } from '../pending.ts'
import type { Lane, Requeue } from '../queues/lane.ts'
import type { LaneQueue } from '../queues/lane-queue.ts'
import { Lanes } from '../queues/lanes.ts'
import type { ResultCounts } from '../result-counts.ts'
import { settleExpired } from '../settler.ts'
import { Delivery, type DeliveryOptions, type Envelope } from './delivery.ts'
import { formEnvelope, isOpen } from './packer.ts'
import { Pipeline } from './pipeline.ts'
import { Shares } from './shares.ts'
import { Slots } from './slots.ts'
import { UrgencyTurns } from './urgency-turns.ts'

export interface DispatcherOptions extends Omit<DeliveryOptions, 'putBack'> {
  accounts: ReadonlyMap<string, Account>
  /** Command topics and the doubts topic, the most urgent first. */
  topics: readonly string[]
  /** Weights of tenants; others have 1. */
  tenantWeights: ReadonlyMap<string, number>
  maxOperations: number
  maxBytes: number
  lingerMs: number
  /** Most requests in flight. */
  concurrency: number
  /** gateway.timeoutMs */
  timeoutMs: number
  /** Called with the commands of paused campaigns and tenants, which leave the queues. */
  setAside: (pendings: readonly Pending[]) => void
  /** Most commands with a committed intent and no committed result; at least twice maxOperations. */
  maxIntents: number
}

/** Envelopes that maxIntents must hold so that accounts leave room for each other. */
const leastShared = 4

/** How often queued commands are checked for expiry: a prepared one may be taken back first, and settled the next time. */
const sweepMs = 4_000

/**
 * Decides what is sent when. Commands wait in lanes, by account. Each event forms and prepares as many envelopes as accounts,
 * rates and soon-free slots allow. Urgent lanes come first, but each other lane gets its turns. Prepared envelopes are sent in
 * the same order as slots become free.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #delivery: Delivery
  readonly #shares: Shares
  readonly #slots: Slots
  readonly #pipeline: Pipeline
  /** Number of commands in envelopes that are formed and not answered: those without a result after the next commit. */
  #intents = 0
  readonly #lanes: Lanes
  /** Order in which lanes form envelopes, and hence share the rate. */
  readonly #turns: UrgencyTurns
  #cancelTimer: (() => void) | null = null
  /** Monotonic milliseconds. */
  #sweptAt = Number.NEGATIVE_INFINITY
  #pumping = false
  /** Pumps once per tick, so that commands from several partitions of a fetch share envelopes. */
  readonly #pumpSoon = oncePerTick(() => this.pump())
  #stopped = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { concurrency, accounts, topics } = options
    this.#shares = new Shares({ ...options, accounts: accounts.values() })
    this.#slots = new Slots(this.#shares, concurrency, topics.length)
    this.#pipeline = new Pipeline(this.#shares, concurrency, topics.length)
    this.#lanes = new Lanes({ ...options, isSlowed: account => this.#shares.isSlowed(account) })
    this.#turns = new UrgencyTurns(options.topics.length)
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    for (const account of accounts.values()) void account.heard.then(() => this.#heard(account))
    options.controls.onChange(oncePerTick(() => this.#sortAnew()))
  }

  #heard(account: Account): void {
    this.#shares.heard(account)
    this.pump()
  }

  get inFlight(): number {
    return this.#shares.taken
  }

  /** Most commands that a kill would leave in doubt after the next commit. */
  get intents(): number {
    return this.#intents
  }

  /** Runs an account's status poll when a slot is free. */
  async inSlot(account: Account, request: () => Promise<void>): Promise<void> {
    this.#pumpSoon()
    await this.#slots.poll(account, request).finally(() => this.pump())
  }

  /** Whether commands wait for a pause, or for an account that may not send now. */
  get heldBack(): boolean {
    return this.#lanes.heldBack
  }

  /** Number of an account's unsent commands that this process has read and that nobody has paused. */
  waiting(account: string): number {
    return this.#lanes.waiting(account)
  }

  /** Append time of the topic's oldest unsent command, milliseconds since 1970; null if there is none. */
  oldestTimestamp(topic: string): number | null {
    return this.#lanes.oldestTimestamp(topic)
  }

  add(session: Session): void {
    this.#lanes.add(session)
  }

  /** Resumes after a rebalance that kept the partition. */
  resume(session: Session): void {
    this.#lanes.resume(session)
    this.#pumpSoon()
  }

  /**
   * Called when no POST of the session may begin. Takes prepared envelopes back, so that the rebalance need not wait for them.
   */
  hold(session: Session): void {
    if (!session.open) this.#takeBack()
  }

  /** Drops the session's commands; the next owner of the partition reads them again. */
  remove(session: Session): void {
    this.#lanes.remove(session)
    this.#takeBack()
  }

  /** Called when the log lost the records before this offset. Commands in memory are sent anyway. */
  forgetBefore(session: Session, offset: number): void {
    this.#lanes.forgetBefore(session, offset)
    this.#pumpSoon()
  }

  /** Queues commands of one session. */
  push(pendings: readonly Pending[]): void {
    this.#lanes.push(pendings)
    this.#pumpSoon()
  }

  /** Forms and sends as many envelopes as possible, and sets a timer for the next. */
  pump(): void {
    if (this.#pumping || this.#stopped) return
    this.#pumping = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#takeBack()
    this.#setAside()
    this.#slots.fill()
    let wait = 0
    while (wait === 0) wait = this.#form()
    wait = Math.min(wait, this.#lanes.balance(), this.#sweep())
    if (Number.isFinite(wait)) this.#cancelTimer = this.#options.clock.after(Math.ceil(wait), () => this.pump())
    this.#pumping = false
  }

  #setAside(): void {
    const pendings = this.#lanes.takeSetAside()
    if (pendings.length > 0) this.#options.setAside(pendings)
  }

  /** Begins no further request. */
  stop(): void {
    this.#cancelTimer?.()
    this.#stopped = true
    this.#takeBack()
  }

  /** Forms one envelope and begins to prepare it. @returns 0 if it did, otherwise milliseconds until the next may be formed */
  #form(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const urgency of this.#turns.order()) {
      const lane = this.#lanes.at(urgency)
      const isWanted = this.#pipeline.wanted(urgency)
      if (!isWanted) continue
      for (const { account, queue } of this.#inTurn(
        lane,
        account => isWanted(account) && this.#hasRoom(urgency, account),
      )) {
        const envelope = formEnvelope(this.#options, account, queue, urgency)
        if (typeof envelope === 'number') {
          wait = Math.min(wait, envelope)
          continue
        }
        lane.turn(account.name)
        this.#turns.left(urgency)
        void this.#process(envelope)
        return 0
      }
    }
    return wait
  }

  /** Queues of accounts that may form an envelope: first that of the account which uses the least slot time, then by turn. */
  *#inTurn(lane: Lane, mayForm: (account: Account) => boolean): Iterable<{ account: Account; queue: LaneQueue }> {
    const loaded: { account: Account; queue: LaneQueue; load: number }[] = []
    for (const [name, queue] of lane.queues) {
      const account = this.#options.accounts.get(name)!
      if (!mayForm(account)) continue
      const load = this.#pipeline.load(account)
      if (load === 0) yield { account, queue }
      else loaded.push({ account, queue, load })
    }
    yield* loaded.sort((a, b) => a.load - b.load)
  }

  /**
   * Whether maxIntents allows an envelope. Room for one is reserved for the most urgent topic, and for one of an account without
   * envelopes under way.
   */
  #hasRoom(urgency: number, account: Account): boolean {
    const { maxOperations, maxIntents, accounts } = this.#options
    const isTight = accounts.size === 1 || maxIntents < leastShared * maxOperations
    const kept = (urgency === 0 ? 0 : 1) + (isTight || !this.#pipeline.isUnderWay(account) ? 0 : 1)
    return this.#intents + (1 + kept) * maxOperations <= maxIntents
  }

  /**
   * Commits an envelope's intents, sends it when it gets a slot, and awaits the commit of its results. An answer makes room for
   * intents at once: they are committed with its results, or later.
   */
  async #process(envelope: Envelope): Promise<void> {
    const { clock } = this.#options
    const { account, urgency, size } = envelope
    const formedAt = clock.monotonic()
    this.#intents += size
    this.#pipeline.formed(account, urgency)
    if (!(await this.#delivery.intend(envelope))) {
      void this.#return(envelope)
      return
    }
    this.#pipeline.prepared(clock.monotonic() - formedAt)
    const sent = this.#slots.send(
      envelope,
      () => this.#pipeline.left(account, urgency),
      () => this.#send(envelope),
    )
    if (this.#stopped) this.#takeBack()
    else this.pump()
    const counts = await sent
    if (!counts) return // the envelope was taken back
    this.#end(envelope)
    await this.#delivery.committed(envelope, counts)
  }

  /** Settles expired commands. @returns milliseconds until the next sweep */
  #sweep(): number {
    const now = this.#options.clock.monotonic()
    if (now < this.#sweptAt + sweepMs) return this.#sweptAt + sweepMs - now
    this.#sweptAt = now
    this.#takeBackExpired()
    const isLeft = settleExpired(this.#options, accept => this.#lanes.sweep(accept))
    return isLeft || this.#slots.hasEnvelopes ? sweepMs : Number.POSITIVE_INFINITY
  }

  /** Takes back prepared envelopes with expired commands, since slow answers may hold all slots. */
  #takeBackExpired(): void {
    const now = this.#options.clock.now()
    const isOver = (pending: Pending) => !pending.proof && expiry(pending, now, this.#options) !== null
    this.#takeBack(({ pendings }) => !pendings.some(isOver))
  }

  /** Applies changed pauses and withdrawals to all queues and prepared envelopes. Each time the whole queue is searched. */
  #sortAnew(): void {
    this.#lanes.sortAnew()
    this.#sweptAt = Number.NEGATIVE_INFINITY
    this.pump()
  }

  /** Takes back prepared envelopes except those to keep. Default: those that may not be sent now. */
  #takeBack(isToStay?: (envelope: Envelope) => boolean): void {
    if (!this.#slots.hasEnvelopes) return
    const takenBack = this.#slots.takeBack(isToStay ?? this.#mayGo())
    // in reverse: the last to return is the first to go again
    for (const envelope of takenBack.reverse()) void this.#return(envelope)
  }

  /** A check of what may have changed since an envelope was formed: pauses, its partitions, the group's lease. */
  #mayGo(): (envelope: Envelope) => boolean {
    const { hasLease, controls } = this.#options
    if (this.#stopped || !hasLease()) return () => false
    return envelope => {
      const { account, permit, pendings } = envelope
      return account.admits(permit) && isOpen(envelope) && !hasPaused(pendings, controls)
    }
  }

  async #return(envelope: Envelope): Promise<void> {
    this.#pipeline.left(envelope.account, envelope.urgency)
    await this.#delivery.takeBack(envelope)
    this.#end(envelope)
  }

  /** Sends an envelope that has a slot, without commands that have expired meanwhile. */
  async #send(envelope: Envelope): Promise<ResultCounts> {
    const { clock } = this.#options
    const { account, pendings } = envelope
    envelope.pendings = settleExpired(this.#options, accept =>
      pendings.filter(pending => pending.proof || accept(pending)),
    )
    const startedAt = clock.monotonic()
    const counts = await this.#delivery.send(envelope)
    this.#pipeline.sent(account, clock.monotonic() - startedAt)
    return counts
  }

  #end(envelope: Envelope): void {
    this.#intents -= envelope.size
    this.pump()
  }

  #putBack(pendings: readonly Pending[], how: Requeue): void {
    for (const pending of pendings) pending.packed = false
    this.#lanes.putBack(pendings, how)
  }
}

/** Runs the action at the end of the tick, once for all calls of the tick. */
function oncePerTick(action: () => void): () => void {
  let isDue = false
  return () => {
    if (isDue) return
    isDue = true
    queueMicrotask(() => {
      isDue = false
      action()
    })
  }
}
