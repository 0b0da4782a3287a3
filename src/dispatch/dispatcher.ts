import pLimit from 'p-limit'
import type { Account } from '../accounts/account.ts'
import type { Session } from '../bus/port.ts'
import { envelopeOverhead } from '../gateway/envelope.ts'
import { concludeExpired } from './conclusion.ts'
import { Delivery, type DeliveryOptions, type Envelope, type Return } from './delivery.ts'
import { expiry, type Pending } from './pending.ts'
import { AccountQueue, type EnvelopeBounds } from './queue.ts'
import { ResultTally } from './results.ts'
import { Vouching } from './vouching.ts'

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

interface Lane {
  session: Session
  queues: Map<string, AccountQueue>
}

/**
 * Decides what is sent when. Commands wait in a queue for each partition and account; whenever something changes, as
 * many envelopes leave as slots, accounts and rates allow, those of the urgent topics first, partitions in turn.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions
  readonly #delivery: Delivery
  readonly #slots: ReturnType<typeof pLimit>
  /** By urgency. */
  readonly #lanes: Lane[][]
  readonly #bySession = new Map<Session, Lane>()
  readonly #underway = new Set<Envelope>()
  readonly #vouching: Vouching
  #cancelTimer: (() => void) | null = null
  #pumping = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#slots = pLimit(options.concurrency)
    this.#lanes = options.topics.map(() => [])
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    this.#vouching = new Vouching({
      ...options,
      queuesOf: ({ name }) => [...this.#bySession.values()].flatMap(({ queues }) => queues.get(name) ?? []),
      isBusy: account => [...this.#underway].some(envelope => envelope.account === account),
      inSlot: request => this.inSlot(request),
    })
  }

  get inFlight(): number {
    return this.#slots.activeCount
  }

  /** Runs a request that is no envelope of commands when a slot is free. */
  async inSlot(request: () => Promise<void>): Promise<void> {
    await this.#slots(request)
    this.pump()
  }

  /** The append time, in milliseconds since 1970, of the oldest command of a topic that waits to be sent. */
  oldestTimestamp(topic: string): number | null {
    const lanes = this.#lanes[this.#options.topics.indexOf(topic)] ?? []
    const oldest = lanes.flatMap(lane => [...lane.queues.values()].map(queue => queue.oldestTimestamp ?? Infinity))
    const least = Math.min(...oldest)
    return Number.isFinite(least) ? least : null
  }

  add(session: Session): void {
    const lane: Lane = { session, queues: new Map() }
    this.#bySession.set(session, lane)
    this.#lanes[this.#options.topics.indexOf(session.topic)]!.push(lane)
  }

  /** What waits on the session is forgotten: whoever owns the partition next reads it again. */
  remove(session: Session): void {
    const lane = this.#bySession.get(session)
    if (!lane) return
    this.#bySession.delete(session)
    const lanes = this.#lanes[this.#options.topics.indexOf(session.topic)]!
    lanes.splice(lanes.indexOf(lane), 1)
  }

  push(pendings: readonly Pending[]): void {
    for (const pending of pendings) this.#queueOf(pending)?.push(pending)
    this.pump()
  }

  /** Lets as many envelopes leave as may, and comes back by itself when the next one is due. */
  pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    let wait = 0
    while (wait === 0) wait = this.#leave()
    wait = Math.min(wait, this.#vouching.check())
    if (wait > 0 && Number.isFinite(wait)) {
      this.#cancelTimer = this.#options.clock.after(Math.ceil(wait), () => this.pump())
    }
    this.#pumping = false
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#pumping = true
  }

  /** One slot is kept for the most urgent topic, so that a slow gateway under bulk does not hold it up. */
  #hasSlot(urgency: number): boolean {
    const { concurrency } = this.#options
    const kept = urgency > 0 && concurrency > 1 ? 1 : 0
    return this.#slots.activeCount + this.#slots.pendingCount + kept < concurrency
  }

  /** Lets one envelope leave. @returns 0 when it did, else milliseconds until one may. */
  #leave(): number {
    let wait = Number.POSITIVE_INFINITY
    for (const [urgency, lanes] of this.#lanes.entries()) {
      if (!this.#hasSlot(urgency)) break
      for (const lane of lanes) {
        if (!lane.session.open) continue
        for (const [name, queue] of lane.queues) {
          const envelope = this.#form(lane.session, this.#options.accounts.get(name)!, queue)
          if (typeof envelope === 'number') {
            wait = Math.min(wait, envelope)
            continue
          }
          lanes.push(...lanes.splice(lanes.indexOf(lane), 1)) // the next one comes from another partition
          void this.#deliver(envelope)
          return 0
        }
      }
    }
    return wait
  }

  async #deliver(envelope: Envelope): Promise<void> {
    this.#underway.add(envelope)
    await this.#slots(() => this.#delivery.deliver(envelope))
    this.#underway.delete(envelope)
    this.pump()
  }

  /** Packs an envelope if the account and its rate allow it now. @returns it, or the milliseconds to wait. */
  #form(session: Session, account: Account, queue: AccountQueue): Envelope | number {
    const { clock, lingerMs, maxOperations, maxBytes } = this.#options
    queue.passed(account.passedAt)
    const due = queue.due(clock.monotonic(), lingerMs, maxOperations)
    if (due === null) return Number.POSITIVE_INFINITY
    const wait = Math.max(due, account.wait())
    if (wait > 0) return wait
    const bytes = maxBytes - envelopeOverhead(account.apiKey())
    const pendings = this.#pack(session, queue, { operations: Math.min(maxOperations, account.room()), bytes })
    if (pendings.length === 0) return 1
    return { session, account, pendings, leave: account.leave(pendings.length) }
  }

  #pack(session: Session, queue: AccountQueue, bounds: EnvelopeBounds): Pending[] {
    const { clock, maxAgeMs, outbox, telemetry } = this.#options
    const tally = new ResultTally()
    const now = clock.now()
    const pendings = queue.pack(bounds, pending => {
      if (pending.over) return false
      const errorCode = expiry(pending, now, maxAgeMs)
      if (errorCode) outbox.settle(pending, concludeExpired(pending, errorCode), tally)
      return errorCode === null
    })
    for (const pending of pendings) pending.packed = true
    if (!tally.isEmpty) void session.committed().then(() => tally.announce(telemetry))
    return pendings
  }

  #putBack(pendings: readonly Pending[], how: Return): void {
    for (const pending of pendings) pending.packed = false
    const [first] = pendings
    const queue = first && this.#queueOf(first)
    if (!queue) return
    if (how === 'first') queue.putBack(pendings)
    else if (how === 'halved') queue.putBackHalved(pendings)
    else {
      queue.putAside(first)
      this.#vouching.add(this.#options.accounts.get(first.command.account)!)
    }
  }

  #queueOf({ session, command }: Pending): AccountQueue | undefined {
    const lane = this.#bySession.get(session)
    if (!lane) return undefined
    const queue = lane.queues.get(command.account) ?? new AccountQueue()
    lane.queues.set(command.account, queue)
    return queue
  }
}
