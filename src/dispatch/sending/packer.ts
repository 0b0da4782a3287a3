import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { envelopeOverhead } from '../../gateway/connection.ts'
import type { ExpiryCheck } from '../outbox.ts'
import { isSuspect, type Pending } from '../pending.ts'
import type { LaneQueue } from '../queues/lane-queue.ts'
import type { Envelope } from './delivery.ts'

export interface PackerOptions {
  expiryCheck: ExpiryCheck
  maxOperations: number
  maxBytes: number
  lingerMs: number
  hasLease: () => boolean
  clock: Clock
}

/** Poll interval, since a regained lease is not announced. */
const leaseRetryMs = 100

/** Forms envelopes. */
export class Packer {
  readonly #options: PackerOptions

  constructor(options: PackerOptions) {
    this.#options = options
  }

  /** Packs an envelope if the account and its rate allow it. @returns the envelope, or milliseconds to wait */
  form(account: Account, queue: LaneQueue): Envelope | number {
    const { clock, lingerMs, maxOperations, hasLease } = this.#options
    const isProbe = account.gate.state !== 'closed'
    const due = queue.due(clock.monotonic(), lingerMs, maxOperations)
    if (!Number.isFinite(due)) return due
    const wait = Math.max(due, account.wait(Math.min(maxOperations, queue.next(isProbe)?.length ?? 1)))
    if (wait > 0) return wait
    if (!hasLease()) return leaseRetryMs // its intents would only be taken back again
    const unsent = queue.next(isProbe)?.kind === 'halves' ? 'half' : 'first'
    const pendings = this.#pack(account, queue, isProbe)
    if (pendings.length === 0) return 1
    const carries = isSuspect(pendings[0]!) ? 'suspect' : 'commands'
    for (const pending of pendings) pending.packed = true
    return { account, pendings, parts: partsOf(pendings), permit: account.permit(pendings.length, carries), unsent }
  }

  #pack(account: Account, queue: LaneQueue, isProbe: boolean): Pending[] {
    const { expiryCheck, maxOperations, maxBytes } = this.#options
    const bytes = maxBytes - envelopeOverhead(account.apiKey())
    const operations = Math.min(maxOperations, account.room())
    return expiryCheck.settleExpired(accept => queue.pack({ operations, bytes }, accept, isProbe))
  }
}

function partsOf(pendings: readonly Pending[]): Map<Session, number[]> {
  const parts = new Map<Session, number[]>()
  for (const { session, offset } of pendings) {
    const offsets = parts.get(session)
    if (offsets) offsets.push(offset)
    else parts.set(session, [offset])
  }
  return parts
}

/** An envelope under way, from its formation to its committed results. */
export class InFlight {
  readonly envelope: Envelope
  /** 0 for the most urgent topic. */
  readonly urgency: number
  /** Number of commands, including those that have expired since. */
  readonly size: number

  constructor(envelope: Envelope, urgency: number) {
    this.envelope = envelope
    this.urgency = urgency
    this.size = envelope.pendings.length
  }

  get what(): string {
    return `an envelope of ${this.#sessions.map(({ topic, partition }) => `${topic}/${partition}`).join(', ')}`
  }

  /** False during a rebalance, when held sessions keep their envelopes. */
  get couldEnd(): boolean {
    return this.#sessions.every(({ open, alive }) => open || !alive)
  }

  /** Whether all of its partitions may send. */
  get isOpen(): boolean {
    for (const { open } of this.envelope.parts.keys()) if (!open) return false
    return true
  }

  get #sessions(): Session[] {
    return [...this.envelope.parts.keys()]
  }
}
