import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import type { Pauses } from '../../pauses/pauses.ts'
import { Disposal } from '../outcome/disposal.ts'
import { isSuspect } from '../outcome/refusals.ts'
import { expiry, hasPaused, type Pending } from '../pending.ts'
import type { Return, Weights } from '../queues/lane.ts'
import { Lanes } from '../queues/lanes.ts'
import { SuspectedAccounts } from '../queues/suspected-accounts.ts'
import { Delivery, type DeliveryOptions } from './delivery.ts'
import { InFlight } from './in-flight.ts'
import { Lead } from './lead.ts'
import { Packer } from './packer.ts'
import { Slots } from './slots.ts'
import { mostPassedOver, Turns } from './turns.ts'

export interface DispatcherOptions extends Omit<DeliveryOptions, 'putBack'> {
  accounts: ReadonlyMap<string, Account>
  /** Topics of commands, the doubts among them, in order of urgency. */
  topics: readonly string[]
  weights: Weights
  pauses: Pauses
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
  readonly #lead: Lead
  readonly #inFlight = new Set<InFlight>()
  /** Commands of all envelopes on their way. */
  #intents = 0
  readonly #lanes: Lanes
  /** Envelopes are formed in these turns: what the rate allows is dealt out there. */
  readonly #turns: Turns
  readonly #suspected: SuspectedAccounts
  readonly #disposal: Disposal
  readonly #packer: Packer
  #cancelTimer: (() => void) | null = null
  /** Monotonic milliseconds. */
  #sweptAt = Number.NEGATIVE_INFINITY
  #pumping = false
  #pumpsSoon = false
  /** Whether a change of what is paused is about to be heeded. */
  #isSorting = false
  #stopped = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#slots = new Slots(options.concurrency, options.topics.length)
    this.#lead = new Lead(options.concurrency)
    this.#lanes = new Lanes(options)
    this.#turns = new Turns(options.topics.length)
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    this.#disposal = new Disposal(options)
    this.#suspected = new SuspectedAccounts({
      clock: options.clock,
      queuesOf: account => this.#lanes.of(account),
      isBusy: account => [...this.#inFlight].some(({ envelope }) => envelope.account === account),
    })
    this.#packer = new Packer({ ...options, disposal: this.#disposal, suspected: this.#suspected })
    options.pauses.onChange(() => this.#pausesChanged())
  }

  get inFlight(): number {
    return this.#slots.taken
  }

  /** Commands that a kill now would leave in doubt, at most. */
  get intents(): number {
    return this.#intents
  }

  /** Runs a request that is no envelope of commands when a slot is free. */
  async inSlot(request: () => Promise<void>): Promise<void> {
    queueMicrotask(() => this.pump())
    await this.#slots.request('a status poll', request)
    this.pump()
  }

  /** Names what is on its way and could end. */
  *underWay(): Iterable<{ what: string }> {
    for (const one of this.#inFlight) if (one.couldEnd) yield one
    yield* this.#slots.underWay
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
    const { patienceMs } = this.#lead
    const patientSince = this.#options.clock.monotonic() - patienceMs
    const isSoon = ({ formedAt }: InFlight) => formedAt > patientSince
    while (this.#slots.next(flight => void this.#send(flight), isSoon));
    const patience = this.#slots.isKept ? patienceMs : Number.POSITIVE_INFINITY
    let wait = 0
    while (wait === 0) wait = this.#form()
    wait = Math.min(wait, patience, this.#lanes.balance(), this.#suspected.check(), this.#sweep())
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
        void this.#prepare(new InFlight(envelope, urgency, this.#options.clock.monotonic()))
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
    const own = this.#slots.ahead(urgency)
    let all = own
    for (let other = 0; other < urgency; other++) all += this.#slots.ahead(other)
    const wanted = Math.max(0, this.#slots.free(urgency)) + this.#lead.envelopes
    return all < wanted || own < Math.ceil(wanted / (mostPassedOver + 1))
  }

  /** Has its intents committed; then it waits for a slot. */
  async #prepare(flight: InFlight): Promise<void> {
    const { clock } = this.#options
    this.#inFlight.add(flight)
    this.#intents += flight.size
    this.#slots.expect(flight)
    const refusing = await this.#delivery.intend(flight.envelope)
    const isPrepared = refusing.size === 0
    this.#slots.arrive(flight, isPrepared)
    if (!isPrepared) {
      await this.#return(flight, refusing)
      return
    }
    this.#lead.prepared(clock.monotonic() - flight.formedAt)
    if (this.#stopped) this.#takeBack()
    else this.pump()
  }

  /** Nobody waits longer than that for the result of a command that has expired. @returns milliseconds until the next time */
  #sweep(): number {
    const now = this.#options.clock.monotonic()
    if (now < this.#sweptAt + sweepMs) return this.#sweptAt + sweepMs - now
    this.#sweptAt = this.#takeBackExpired() ? now - sweepMs + takenBackMs : now
    const isLeft = this.#disposal.during(accept => this.#lanes.sweep(accept))
    return isLeft || this.#slots.arePrepared ? sweepMs : Number.POSITIVE_INFINITY
  }

  /** A slot can be far away, since slow answers hold them all. @returns whether something was taken back */
  #takeBackExpired(): boolean {
    const { clock, maxAgeMs } = this.#options
    const now = clock.now()
    const isOver = (pending: Pending) => !pending.proof && expiry(pending, now, maxAgeMs) !== null
    return this.#takeBack(({ envelope }) => !envelope.pendings.some(isOver))
  }

  /**
   * What is stopped is not sent, what is prepared included; what goes on has its turns. Each time all that waits is looked
   * through, so changes that come in one step are heeded together.
   */
  #pausesChanged(): void {
    if (this.#isSorting) return
    this.#isSorting = true
    queueMicrotask(() => {
      this.#isSorting = false
      this.#lanes.sortAnew()
      for (const account of this.#options.accounts.values()) this.#suspected.add(account)
      this.pump()
    })
  }

  /** Takes back what is prepared and is not to stay. Default: what may not be sent now. @returns whether there was any */
  #takeBack(isToStay = (flight: InFlight) => this.#mayGo(flight)): boolean {
    const withdrawn = this.#slots.withdraw(isToStay)
    for (const flight of withdrawn.reverse()) void this.#return(flight) // the one that goes back last is the next to go
    return withdrawn.length > 0
  }

  /** Since it was formed its account or an operator can have paused, a partition can have gone, or the group can join anew. */
  #mayGo(flight: InFlight): boolean {
    const { hasLease, pauses } = this.#options
    const { account, leave, pendings } = flight.envelope
    const goes = !this.#stopped && account.admits(leave) && flight.isOpen && hasLease()
    return goes && !hasPaused(pendings, pauses)
  }

  async #return(flight: InFlight, refusing?: ReadonlySet<Session>): Promise<void> {
    flight.stage = 'finishing'
    await this.#delivery.takeBack(flight.envelope, refusing)
    this.#end(flight)
  }

  /** Sends an envelope that has its slot. */
  async #send(flight: InFlight): Promise<void> {
    const { clock } = this.#options
    const { envelope } = flight
    const pendings = envelope.pendings
    envelope.pendings = this.#disposal.during(accept => pendings.filter(pending => pending.proof || accept(pending)))
    const startedAt = clock.monotonic()
    const tally = await this.#slots.hold(flight, () => this.#delivery.send(envelope))
    this.#lead.sent(clock.monotonic() - startedAt)
    this.pump()
    const areIntentsScarce = 2 * this.#intents >= this.#options.maxIntents
    await this.#delivery.committed(envelope, tally, areIntentsScarce)
    this.#end(flight)
  }

  #end(flight: InFlight): void {
    this.#inFlight.delete(flight)
    this.#intents -= flight.size
    this.pump()
  }

  #putBack(pendings: readonly Pending[], how: Return): void {
    for (const pending of pendings) pending.packed = false
    this.#lanes.putBack(pendings, how)
    const [first] = pendings
    if (first && isSuspect(first)) this.#suspected.add(this.#options.accounts.get(first.command.account)!)
  }
}
