import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import { ExpiryCheck, type ResultCounts } from '../outbox.ts'
import { expiry, hasPaused, type Pending } from '../pending.ts'
import type { Requeue } from '../queues/lane.ts'
import { Lanes } from '../queues/lanes.ts'
import { Delivery, type DeliveryOptions, type Envelope } from './delivery.ts'
import { InFlight, Packer } from './packer.ts'
import { mostPassedOver, PipelineDepth, Slots, UrgencyTurns } from './slots.ts'

export interface DispatcherOptions extends Omit<DeliveryOptions, 'putBack'> {
  accounts: ReadonlyMap<string, Account>
  /** Topics of commands, the doubts among them, in order of urgency. */
  topics: readonly string[]
  /** Of tenants, where they are not 1. */
  tenantWeights: ReadonlyMap<string, number>
  maxOperations: number
  maxBytes: number
  lingerMs: number
  /** Requests in flight at most. */
  concurrency: number
  /** Commands at most that have an intent, or are to get one, and no committed result; twice maxOperations at least. */
  maxIntents: number
}

/** Commands that have expired while they wait get their results this often, and so much later where they were prepared. */
const sweepMs = 5_000
const takenBackMs = 500

/**
 * Decides what is sent when. Commands wait in lanes, by account; whenever something changes, as many envelopes are formed
 * and prepared as accounts and rates allow and slots will soon have need of, those of the urgent lane first but for the
 * turns of the others. Prepared ones are sent as slots become free, in the same order.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #delivery: Delivery
  readonly #slots: Slots
  readonly #depth: PipelineDepth
  readonly #inFlight = new Set<InFlight>()
  /** Status polls that hold a slot. */
  readonly #polls = new Set<{ what: string }>()
  /** Envelopes whose intents are being committed, by urgency. */
  readonly #preparing: number[]
  /** Commands of all envelopes on their way. */
  #intents = 0
  readonly #lanes: Lanes
  /** Envelopes are formed in these turns: what the rate allows is dealt out there. */
  readonly #turns: UrgencyTurns
  readonly #expiryCheck: ExpiryCheck
  readonly #packer: Packer
  #cancelTimer: (() => void) | null = null
  /** Monotonic milliseconds. */
  #sweptAt = Number.NEGATIVE_INFINITY
  #pumping = false
  #pumpsSoon = false
  /** Whether a change of what is paused or withdrawn is about to be heeded. */
  #isSorting = false
  #stopped = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#slots = new Slots(options.concurrency, options.topics.length)
    this.#depth = new PipelineDepth(options.concurrency)
    this.#preparing = options.topics.map(() => 0)
    this.#lanes = new Lanes(options)
    this.#turns = new UrgencyTurns(options.topics.length)
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    this.#expiryCheck = new ExpiryCheck(options)
    this.#packer = new Packer({ ...options, expiryCheck: this.#expiryCheck })
    options.controls.onChange(() => this.#controlsChanged())
  }

  get inFlight(): number {
    return this.#slots.taken
  }

  /** Commands that a kill now would leave in doubt, at most. */
  get intents(): number {
    return this.#intents
  }

  /** Runs a status poll when a slot is free. */
  async inSlot(request: () => Promise<void>): Promise<void> {
    const poll = { what: 'a status poll' }
    this.#pumpSoon()
    const run = () => {
      this.#polls.add(poll)
      return request()
    }
    await this.#slots.poll(run).finally(() => {
      this.#polls.delete(poll)
      this.pump()
    })
  }

  /** Names what is on its way and could end: those that hold the slots keep the envelopes that wait for one. */
  *underWay(): Iterable<{ what: string }> {
    for (const one of this.#inFlight) if (one.couldEnd && !this.#slots.isWaiting(one)) yield one
    yield* this.#polls
  }

  /** Tells whether commands wait for an account that may not send now. */
  get heldBack(): boolean {
    return this.#lanes.heldBack
  }

  /** The append time, in milliseconds since 1970, of the oldest command of a topic that waits to be sent. */
  oldestTimestamp(topic: string): number | null {
    return this.#lanes.oldestTimestamp(topic)
  }

  add(session: Session): void {
    this.#lanes.add(session)
  }

  /** The session is open again. */
  resume(session: Session): void {
    this.#lanes.resume(session)
    queueMicrotask(() => this.pump()) // when all that come back in this step are there: an envelope may hold them all
  }

  /** No POST of the session may begin now: what is prepared is new again, so that nobody waits for it. */
  hold(session: Session): void {
    if (!session.open) this.#takeBack()
  }

  /** What waits on the session is forgotten: whoever owns the partition next reads it again. */
  remove(session: Session): void {
    this.#lanes.remove(session)
    this.#takeBack()
  }

  /** The records before this offset are gone from the session's log: what is in memory is sent all the same. */
  forgetBefore(session: Session, offset: number): void {
    this.#lanes.forgetBefore(session, offset)
    this.#pumpSoon()
  }

  /** Commands of one session. */
  push(pendings: readonly Pending[]): void {
    this.#lanes.push(pendings)
    this.#pumpSoon()
  }

  /** What one fetch brought of several partitions goes into envelopes together. */
  #pumpSoon(): void {
    if (this.#pumpsSoon) return
    this.#pumpsSoon = true
    queueMicrotask(() => {
      this.#pumpsSoon = false
      this.pump()
    })
  }

  /** Lets as many envelopes leave as may, and comes back by itself when the next one is due. */
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

  /** Nothing begins any more. */
  stop(): void {
    this.#cancelTimer?.()
    this.#pumping = true
    this.#stopped = true
    this.#takeBack()
  }

  /** Forms one envelope and has it prepared. @returns 0 when it did, else milliseconds until one may be. */
  #form(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const urgency of this.#turns.order()) {
      if (!this.#mayForm(urgency)) continue
      const lane = this.#lanes.at(urgency)
      for (const [name, queue] of lane.queues) {
        const envelope = this.#packer.form(this.#options.accounts.get(name)!, queue)
        if (typeof envelope === 'number') {
          wait = Math.min(wait, envelope)
          continue
        }
        lane.turn(name)
        this.#turns.left(urgency)
        void this.#process(new InFlight(envelope, urgency))
        return 0
      }
    }
    return wait
  }

  /**
   * Tells whether the slots will soon have need of an envelope of the topic, and a kill would not leave too much in
   * doubt. Those of less urgent topics are no reason against it, and more urgent ones leave it the part that is its
   * turn. The room of one envelope is kept for the most urgent topic.
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

  /** Envelopes of a topic that wait for a slot, or soon will. */
  #ahead(urgency: number): number {
    return this.#preparing[urgency]! + this.#slots.waiting(urgency)
  }

  /** Has an envelope's intents committed, sends it when it has a slot, and has its results committed. */
  async #process(flight: InFlight): Promise<void> {
    const { clock, maxIntents } = this.#options
    const { envelope, urgency } = flight
    const formedAt = clock.monotonic()
    this.#inFlight.add(flight)
    this.#intents += flight.size
    this.#preparing[urgency]!++
    const isPrepared = await this.#delivery.intend(envelope)
    this.#preparing[urgency]!--
    if (!isPrepared) {
      void this.#return(flight)
      return
    }
    this.#depth.prepared(clock.monotonic() - formedAt)
    const sent = this.#slots.envelope(flight, () => this.#send(envelope))
    if (this.#stopped) this.#takeBack()
    else this.pump()
    const counts = await sent
    if (!counts) return // taken back
    this.pump()
    const areIntentsScarce = 2 * this.#intents >= maxIntents
    await this.#delivery.committed(envelope, counts, areIntentsScarce)
    this.#end(flight)
  }

  /** Nobody waits longer than that for the result of a command that has expired. @returns milliseconds until the next time */
  #sweep(): number {
    const now = this.#options.clock.monotonic()
    if (now < this.#sweptAt + sweepMs) return this.#sweptAt + sweepMs - now
    this.#sweptAt = this.#takeBackExpired() ? now - sweepMs + takenBackMs : now
    const isLeft = this.#expiryCheck.settleExpired(accept => this.#lanes.sweep(accept))
    return isLeft || this.#slots.hasEnvelopes ? sweepMs : Number.POSITIVE_INFINITY
  }

  /** A slot can be far away, since slow answers hold them all. @returns whether something was taken back */
  #takeBackExpired(): boolean {
    const now = this.#options.clock.now()
    const isOver = (pending: Pending) => !pending.proof && expiry(pending, now, this.#options) !== null
    return this.#takeBack(({ envelope }) => !envelope.pendings.some(isOver))
  }

  /**
   * Nothing that is paused or withdrawn is sent, even if it is prepared; what was resumed gets its turns. Each time the whole
   * queue is searched, so changes that come in one step are applied together.
   */
  #controlsChanged(): void {
    if (this.#isSorting) return
    this.#isSorting = true
    queueMicrotask(() => {
      this.#isSorting = false
      this.#lanes.sortAnew()
      this.#sweptAt = Number.NEGATIVE_INFINITY
      this.pump()
    })
  }

  /** Takes back what is prepared and is not to stay. Default: what may not be sent now. @returns whether there was any */
  #takeBack(isToStay?: (flight: InFlight) => boolean): boolean {
    if (!this.#slots.hasEnvelopes) return false
    const withdrawn = this.#slots.withdraw(isToStay ?? this.#mayGo())
    for (const flight of withdrawn.reverse()) void this.#return(flight) // the one that goes back last is the next to go
    return withdrawn.length > 0
  }

  /** Since it was formed its account or an operator can have paused, a partition can have gone, or the group can join anew. */
  #mayGo(): (flight: InFlight) => boolean {
    const { hasLease, controls } = this.#options
    if (this.#stopped || !hasLease()) return () => false
    return flight => {
      const { account, permit, pendings } = flight.envelope
      return account.admits(permit) && flight.isOpen && !hasPaused(pendings, controls)
    }
  }

  async #return(flight: InFlight): Promise<void> {
    await this.#delivery.takeBack(flight.envelope)
    this.#end(flight)
  }

  /** Sends an envelope that has its slot, without what has expired meanwhile. */
  async #send(envelope: Envelope): Promise<ResultCounts> {
    const { clock } = this.#options
    const { pendings } = envelope
    envelope.pendings = this.#expiryCheck.settleExpired(accept =>
      pendings.filter(pending => pending.proof || accept(pending)),
    )
    const startedAt = clock.monotonic()
    const counts = await this.#delivery.send(envelope)
    this.#depth.sent(clock.monotonic() - startedAt)
    return counts
  }

  #end(flight: InFlight): void {
    this.#inFlight.delete(flight)
    this.#intents -= flight.size
    this.pump()
  }

  #putBack(pendings: readonly Pending[], how: Requeue): void {
    for (const pending of pendings) pending.packed = false
    this.#lanes.putBack(pendings, how)
  }
}
