import pLimit from 'p-limit'
import { type Account, refusedForNoKnownReason } from '../accounts/account.ts'
import type { Session } from '../bus/port.ts'
import { envelopeOverhead } from '../gateway/envelope.ts'
import { concludeExpired } from './conclusion.ts'
import { Delivery, type DeliveryOptions, type Envelope, type Return } from './delivery.ts'
import { PartitionQueues } from './partition-queues.ts'
import { expiry, type Pending } from './pending.ts'
import type { AccountQueue } from './queue.ts'
import { ResultTally } from './results.ts'
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

/** The lease comes back with the group's answer to a heartbeat, of which nobody tells. */
const leaseRetryMs = 100

/** What holds a slot, or is about to. */
interface InFlight {
  what: string
  /** null: a request that is no envelope of commands. */
  session: Session | null
  account?: Account
  isUrgent: boolean
}

/**
 * Decides what is sent when. Commands wait in a queue for each partition and account; whenever something changes, as
 * many envelopes leave as slots, accounts and rates allow, those of the urgent topics first but for the turns of the
 * others, partitions in turn.
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
  /** By urgency. */
  readonly #partitions: PartitionQueues[][]
  readonly #bySession = new Map<Session, PartitionQueues>()
  readonly #turns: Turns
  readonly #suspected: SuspectedAccounts
  #cancelTimer: (() => void) | null = null
  #pumping = false

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#slots = pLimit(options.concurrency)
    this.#partitions = options.topics.map(() => [])
    this.#turns = new Turns(options.topics.length)
    this.#delivery = new Delivery({ ...options, putBack: (pendings, how) => this.#putBack(pendings, how) })
    this.#suspected = new SuspectedAccounts({
      clock: options.clock,
      queuesOf: ({ name }) =>
        [...this.#bySession].flatMap(([session, partition]) => (session.open && partition.of(name)) || []),
      hasSuspects: ({ name }) =>
        [...this.#bySession.values()].some(partition => (partition.of(name)?.suspects.length ?? 0) > 0),
      isBusy: account => [...this.#inFlight].some(one => one.account === account),
      sweep: queue => this.#disposing(accept => queue.suspects.keep(accept)),
    })
  }

  get inFlight(): number {
    return this.#slots.activeCount
  }

  /** Runs a request that is no envelope of commands when a slot is free. */
  inSlot(request: () => Promise<void>): Promise<void> {
    return new Promise(resolve => {
      this.#requests.push(() => resolve(this.#run({ what: 'a status poll', session: null, isUrgent: false }, request)))
      queueMicrotask(() => this.pump())
    })
  }

  /** What holds a slot and could end: what belongs to a session that is not open waits for that. */
  *underWay(): Iterable<{ what: string }> {
    for (const one of this.#inFlight) if (one.session?.open ?? true) yield one
  }

  /** Whether commands wait for an account that may not send now. */
  get heldBack(): boolean {
    const { accounts } = this.#options
    const waiting = [...this.#bySession.values()].flatMap(({ queues }) => [...queues])
    return waiting.some(([name, { length, suspects, shelf }]) => {
      const account = accounts.get(name)!
      const others = length - suspects.length + shelf.length > 0
      return (others && !account.mayGo) || (suspects.length > 0 && account.gate.state !== 'closed')
    })
  }

  /** The append time, in milliseconds since 1970, of the oldest command of a topic that waits to be sent. */
  oldestTimestamp(topic: string): number | null {
    const partitions = this.#partitions[this.#options.topics.indexOf(topic)] ?? []
    const least = Math.min(...partitions.map(({ oldestTimestamp }) => oldestTimestamp ?? Number.POSITIVE_INFINITY))
    return Number.isFinite(least) ? least : null
  }

  add(session: Session): void {
    const partitions = this.#of(session)
    const partition = new PartitionQueues(session, this.#options)
    this.#bySession.set(session, partition)
    partitions.push(partition)
  }

  /** What waits on the session is forgotten: whoever owns the partition next reads it again. */
  remove(session: Session): void {
    const partition = this.#bySession.get(session)
    if (!partition) return
    this.#bySession.delete(session)
    const partitions = this.#of(session)
    partitions.splice(partitions.indexOf(partition), 1)
  }

  #of({ topic }: Session): PartitionQueues[] {
    const partitions = this.#partitions[this.#options.topics.indexOf(topic)]
    if (!partitions) throw new Error(`${topic} is none of the topics that are sent from`)
    return partitions
  }

  /** Commands of one session. */
  push(pendings: readonly Pending[]): void {
    this.#bySession.get(pendings[0]!.session)?.push(pendings)
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
    wait = Math.min(wait, this.#balance(), this.#suspected.check())
    if (Number.isFinite(wait)) this.#cancelTimer = this.#options.clock.after(Math.ceil(wait), () => this.pump())
    this.#pumping = false
  }

  stop(): void {
    this.#cancelTimer?.()
    this.#pumping = true
  }

  /** Keeps accounts that may not send from filling the memory. @returns milliseconds until it is to do so again */
  #balance(): number {
    const { accounts } = this.#options
    if (accounts.size === 1) return Number.POSITIVE_INFINITY // there is nobody to make room for
    const held = new Set([...accounts.values()].filter(account => !account.mayGo).map(({ name }) => name))
    let wait = Number.POSITIVE_INFINITY
    for (const partition of this.#bySession.values()) wait = Math.min(wait, partition.balance(held))
    return wait
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
      const partitions = this.#partitions[urgency]!
      for (const partition of partitions) {
        if (!partition.session.open) continue
        for (const [name, queue] of partition.queues) {
          const envelope = this.#form(partition.session, this.#options.accounts.get(name)!, queue)
          if (typeof envelope === 'number') {
            wait = Math.min(wait, envelope)
            continue
          }
          partitions.push(...partitions.splice(partitions.indexOf(partition), 1)) // the next one comes from another
          partition.turn(name)
          this.#turns.left(urgency)
          const { session, account } = envelope
          const what = `an envelope of ${session.topic}/${session.partition}`
          void this.#run({ what, session, account, isUrgent: urgency === 0 }, () => this.#delivery.deliver(envelope))
          return 0
        }
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

  /** Packs an envelope if the account and its rate allow it now. @returns it, or the milliseconds to wait. */
  #form(session: Session, account: Account, queue: AccountQueue): Envelope | number {
    const { clock, lingerMs, maxOperations, maxBytes, leaseUntil } = this.#options
    const now = clock.monotonic()
    const due = queue.due(now, lingerMs, maxOperations)
    const suspectDue = this.#suspected.dueIn(account, queue)
    const first = Math.min(due, suspectDue)
    if (!Number.isFinite(first)) return first
    const carries = suspectDue <= due ? 'suspect' : 'commands'
    const wait = Math.max(first, account.wait(carries))
    if (wait > 0) return wait
    if (now >= leaseUntil()) return leaseRetryMs // its intents would be taken back, again and again
    const bytes = maxBytes - envelopeOverhead(account.apiKey())
    const bounds = { operations: Math.min(maxOperations, account.room()), bytes }
    const pendings = this.#disposing(accept => {
      if (carries === 'commands') return queue.pack(bounds, accept)
      return account.gate.state === 'closed'
        ? queue.suspects.takeDue(account, accept)
        : queue.suspects.takeOldest(accept)
    })
    if (pendings.length === 0) return 1
    for (const pending of pendings) pending.packed = true
    return { session, account, pendings, leave: account.leave(pendings.length, carries) }
  }

  /** Takes commands out of a queue, while those that are over or have expired are disposed of. */
  #disposing<T>(take: (accept: (pending: Pending) => boolean) => T): T {
    const { accounts, clock, maxAgeMs, outbox, telemetry } = this.#options
    const tallies = new Map<Session, ResultTally>()
    const now = clock.now()
    const taken = take(pending => {
      if (pending.over) return false
      const errorCode = expiry(pending, now, maxAgeMs)
      if (!errorCode) return true
      const tally = tallies.get(pending.session) ?? new ResultTally()
      tallies.set(pending.session, tally)
      const wasRefused = accounts.get(pending.command.account)!.refusedAt >= pending.readyAt
      const waitedFor = wasRefused ? refusedForNoKnownReason : undefined
      outbox.settle(pending, concludeExpired(pending, errorCode, waitedFor), tally)
      return false
    })
    for (const [session, tally] of tallies) void session.committed().then(() => tally.announce(telemetry))
    return taken
  }

  #putBack(pendings: readonly Pending[], how: Return): void {
    for (const pending of pendings) pending.packed = false
    const [first] = pendings
    this.#bySession.get(first!.session)?.putBack(pendings, how)
    if (how === 'suspect') this.#suspected.add(this.#options.accounts.get(first!.command.account)!)
  }
}
