import pLimit from 'p-limit'
import type { Account } from '../accounts/account.ts'
import type { Session } from '../bus/port.ts'
import { Delivery, type DeliveryOptions, type Return } from './delivery.ts'
import { Disposal } from './disposal.ts'
import { InFlight } from './in-flight.ts'
import { Lanes } from './lanes.ts'
import { Packer } from './packer.ts'
import type { Pending } from './pending.ts'
import { isSuspect } from './refusals.ts'
import { SuspectedAccounts } from './suspected-accounts.ts'
import { Turns } from './turns.ts'

export interface DispatcherOptions extends Omit<DeliveryOptions, 'putBack'> {
  accounts: ReadonlyMap<string, Account>
  /** Topics of commands, the doubts among them, in order of urgency. */
  topics: readonly string[]
  maxOperations: number
  maxBytes: number
  lingerMs: number
  /** Envelopes between their intent and their committed results. */
  concurrency: number
}

/**
 * Decides what is sent when. Commands wait in lanes, by account; whenever something changes, as many envelopes leave as
 * slots, accounts and rates allow, those of the urgent lane first but for the turns of the others.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #delivery: Delivery
  readonly #slots: ReturnType<typeof pLimit>
  readonly #inFlight = new Set<InFlight>()
  /** Requests that are no envelopes of commands and wait for a slot. */
  readonly #requests: (() => void)[] = []
  /** Whether one of them was the last to take a slot. */
  #requestedLast = false
  readonly #lanes: Lanes
  readonly #turns: Turns
  readonly #suspected: SuspectedAccounts
  readonly #packer: Packer
  #cancelTimer: (() => void) | null = null
  #pumping = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#slots = pLimit(options.concurrency)
    this.#lanes = new Lanes(options)
    this.#turns = new Turns(options.topics.length)
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    const disposal = new Disposal(options)
    this.#suspected = new SuspectedAccounts({
      clock: options.clock,
      queuesOf: account => this.#lanes.of(account),
      isBusy: account => [...this.#inFlight].some(({ envelope }) => envelope?.account === account),
      sweep: ({ suspects }) => disposal.during(accept => suspects.keep(accept)),
    })
    this.#packer = new Packer({ ...options, disposal, suspected: this.#suspected })
  }

  get inFlight(): number {
    return this.#slots.activeCount
  }

  /** Runs a request that is no envelope of commands when a slot is free. */
  inSlot(request: () => Promise<void>): Promise<void> {
    return new Promise(resolve => {
      this.#requests.push(() => resolve(this.#run(new InFlight(null, false), request)))
      queueMicrotask(() => this.pump())
    })
  }

  /** What holds a slot and could end. */
  *underWay(): Iterable<{ what: string }> {
    for (const one of this.#inFlight) if (one.couldEnd) yield one
  }

  /** Whether commands wait for an account that may not send now. */
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

  /** What waits on the session is forgotten: whoever owns the partition next reads it again. */
  remove(session: Session): void {
    this.#lanes.remove(session)
  }

  /** Commands of one session. */
  push(pendings: readonly Pending[]): void {
    this.#lanes.push(pendings)
    this.pump()
  }

  /** Lets as many envelopes leave as may, and comes back by itself when the next one is due. */
  pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    let wait = 0
    while (wait === 0) wait = this.#next()
    wait = Math.min(wait, this.#lanes.balance(), this.#suspected.check())
    if (Number.isFinite(wait)) this.#cancelTimer = this.#options.clock.after(Math.ceil(wait), () => this.pump())
    this.#pumping = false
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#pumping = true
  }

  /**
   * One slot is never taken by any but the most urgent topic, so that a slow gateway under bulk does not hold it up.
   */
  #hasSlot(isUrgent: boolean): boolean {
    const { concurrency } = this.#options
    const taken = this.#slots.activeCount + this.#slots.pendingCount
    if (taken >= concurrency) return false
    if (isUrgent || concurrency === 1) return true
    const urgent = [...this.#inFlight].filter(({ isUrgent }) => isUrgent).length
    return taken - urgent + 1 < concurrency
  }

  /** Lets one envelope or one request go: they take turns. @returns as `#leave` */
  #next(): number {
    if (!this.#requestedLast && this.#request()) return 0
    const wait = this.#leave()
    if (wait > 0) return this.#request() ? 0 : wait
    this.#requestedLast = false
    return 0
  }

  #request(): boolean {
    const request = this.#hasSlot(false) ? this.#requests.shift() : undefined
    request?.()
    if (request) this.#requestedLast = true
    return request !== undefined
  }

  /** Lets one envelope leave. @returns 0 when it did, else milliseconds until one may. */
  #leave(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const urgency of this.#turns.order()) {
      if (!this.#hasSlot(urgency === 0)) continue
      const lane = this.#lanes.at(urgency)
      for (const [name, queue] of lane.queues) {
        const envelope = this.#packer.form(this.#options.accounts.get(name)!, queue)
        if (typeof envelope === 'number') {
          wait = Math.min(wait, envelope)
          continue
        }
        lane.turn(name)
        this.#turns.left(urgency)
        void this.#run(new InFlight(envelope, urgency === 0), () => this.#delivery.deliver(envelope))
        return 0
      }
    }
    return wait
  }

  async #run(inFlight: InFlight, request: () => Promise<void>): Promise<void> {
    this.#inFlight.add(inFlight)
    await this.#slots(request)
    this.#inFlight.delete(inFlight)
    this.pump()
  }

  #putBack(pendings: readonly Pending[], how: Return): void {
    for (const pending of pendings) pending.packed = false
    this.#lanes.putBack(pendings, how)
    const [first] = pendings
    if (first && isSuspect(first)) this.#suspected.add(this.#options.accounts.get(first.command.account)!)
  }
}
