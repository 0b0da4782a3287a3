import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import { type ResultCounts, settleExpired } from '../outbox.ts'
import { expiry, hasPaused, type Pending } from '../pending.ts'
import type { Requeue } from '../queues/lane.ts'
import { Lanes } from '../queues/lanes.ts'
import { Delivery, type DeliveryOptions, type Envelope } from './delivery.ts'
import { formEnvelope, isOpen } from './packer.ts'
import { mostPassedOver, PipelineDepth, Slots, UrgencyTurns } from './slots.ts'

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
  /** Most commands with an intent, committed or being committed, and no committed result; at least twice maxOperations. */
  maxIntents: number
}

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
  readonly #slots: Slots
  readonly #depth: PipelineDepth
  /** Number of envelopes whose intents are being committed, by urgency. */
  readonly #preparing: number[]
  /** Number of commands in all envelopes under way. */
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
    this.#slots = new Slots(options.concurrency, options.topics.length)
    this.#depth = new PipelineDepth(options.concurrency)
    this.#preparing = options.topics.map(() => 0)
    this.#lanes = new Lanes(options)
    this.#turns = new UrgencyTurns(options.topics.length)
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    options.controls.onChange(oncePerTick(() => this.#sortAnew()))
  }

  get inFlight(): number {
    return this.#slots.taken
  }

  /** Most commands that a kill would leave in doubt now. */
  get intents(): number {
    return this.#intents
  }

  /** Runs a status poll when a slot is free. */
  async inSlot(request: () => Promise<void>): Promise<void> {
    this.#pumpSoon()
    await this.#slots.send(null, request).finally(() => this.pump())
  }

  /** Whether commands wait for a pause, or for an account that may not send now. */
  get heldBack(): boolean {
    return this.#lanes.heldBack
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
    if (this.#pumping) return
    this.#pumping = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#takeBack()
    this.#slots.fill()
    let wait = 0
    while (wait === 0) wait = this.#form()
    wait = Math.min(wait, this.#lanes.balance(), this.#sweep())
    if (Number.isFinite(wait)) this.#cancelTimer = this.#options.clock.after(Math.ceil(wait), () => this.pump())
    this.#pumping = false
  }

  /** Begins no further request. */
  stop(): void {
    this.#cancelTimer?.()
    this.#pumping = true
    this.#stopped = true
    this.#takeBack()
  }

  /** Forms one envelope and begins to prepare it. @returns 0 if it did, otherwise milliseconds until the next may be formed */
  #form(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const urgency of this.#turns.order()) {
      if (!this.#mayForm(urgency)) continue
      const lane = this.#lanes.at(urgency)
      for (const [name, queue] of lane.queues) {
        const envelope = formEnvelope(this.#options, this.#options.accounts.get(name)!, queue, urgency)
        if (typeof envelope === 'number') {
          wait = Math.min(wait, envelope)
          continue
        }
        lane.turn(name)
        this.#turns.left(urgency)
        void this.#process(envelope)
        return 0
      }
    }
    return wait
  }

  /**
   * Whether slots will soon need an envelope of the topic, and maxIntents allows one. Less urgent topics do not count; more
   * urgent ones leave the topic its turns. Room for one envelope is reserved for the most urgent topic.
   */
  #mayForm(urgency: number): boolean {
    const { maxOperations, maxIntents } = this.#options
    const kept = urgency === 0 ? 0 : maxOperations
    if (this.#intents + maxOperations + kept > maxIntents) return false
    const own = this.#ahead(urgency)
    let all = own
    for (let other = 0; other < urgency; other++) all += this.#ahead(other)
    const wanted = this.#slots.free(urgency) + this.#depth.envelopes
    return all < wanted || own < Math.ceil(wanted / (mostPassedOver + 1))
  }

  /** Number of a topic's envelopes that are being prepared or wait for a slot. */
  #ahead(urgency: number): number {
    return this.#preparing[urgency]! + this.#slots.waiting(urgency)
  }

  /** Commits an envelope's intents, sends it when it gets a slot, and awaits the commit of its results. */
  async #process(envelope: Envelope): Promise<void> {
    const { clock, maxIntents } = this.#options
    const { urgency, size } = envelope
    const formedAt = clock.monotonic()
    this.#intents += size
    this.#preparing[urgency]!++
    const isPrepared = await this.#delivery.intend(envelope)
    this.#preparing[urgency]!--
    if (!isPrepared) {
      void this.#return(envelope)
      return
    }
    this.#depth.prepared(clock.monotonic() - formedAt)
    const sent = this.#slots.send(envelope, () => this.#send(envelope))
    if (this.#stopped) this.#takeBack()
    else this.pump()
    const counts = await sent
    if (!counts) return // the envelope was taken back
    this.pump()
    const areIntentsScarce = 2 * this.#intents >= maxIntents
    await this.#delivery.committed(envelope, counts, areIntentsScarce)
    this.#end(envelope)
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
    await this.#delivery.takeBack(envelope)
    this.#end(envelope)
  }

  /** Sends an envelope that has a slot, without commands that have expired meanwhile. */
  async #send(envelope: Envelope): Promise<ResultCounts> {
    const { clock } = this.#options
    const { pendings } = envelope
    envelope.pendings = settleExpired(this.#options, accept =>
      pendings.filter(pending => pending.proof || accept(pending)),
    )
    const startedAt = clock.monotonic()
    const counts = await this.#delivery.send(envelope)
    this.#depth.sent(clock.monotonic() - startedAt)
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
