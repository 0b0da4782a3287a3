import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import type { Clock } from '../../clock.ts'
import { envelopeOverhead } from '../../gateway/envelope.ts'
import type { Disposal } from '../outcome/disposal.ts'
import type { Pending } from '../pending.ts'
import type { LaneQueue } from '../queues/lane-queue.ts'
import type { QuarantineSchedule } from '../queues/quarantine-schedule.ts'
import type { Envelope } from './delivery.ts'

export interface PackerOptions {
  disposal: Disposal
  quarantines: QuarantineSchedule
  maxOperations: number
  maxBytes: number
  lingerMs: number
  /** See Membership. */
  hasLease: () => boolean
  clock: Clock
}

/** The lease comes back with the group's answer to a heartbeat, of which nobody tells. */
const leaseRetryMs = 100

/** Forms envelopes. */
export class Packer {
  readonly #options: PackerOptions

  constructor(options: PackerOptions) {
    this.#options = options
  }

  /** Packs an envelope if the account and its rate allow it now. @returns it, or the milliseconds to wait. */
  form(account: Account, queue: LaneQueue): Envelope | number {
    const { clock, lingerMs, maxOperations, hasLease, quarantines } = this.#options
    const now = clock.monotonic()
    const due = queue.due(now, lingerMs, maxOperations)
    const suspectDue = quarantines.dueIn(account, queue)
    const first = Math.min(due, suspectDue)
    if (!Number.isFinite(first)) return first
    const carries = suspectDue <= due ? 'suspect' : 'commands'
    const wanted = carries === 'suspect' ? 1 : Math.min(maxOperations, queue.nextLength)
    const wait = Math.max(first, account.wait(carries, wanted))
    if (wait > 0) return wait
    if (!hasLease()) return leaseRetryMs // its intents would be taken back, again and again
    const unsent = carries === 'commands' && queue.nextIsHalf ? 'half' : 'first'
    const pendings = carries === 'commands' ? this.#pack(account, queue) : this.#takeSuspect(account, queue)
    if (pendings.length === 0) return 1
    for (const pending of pendings) pending.packed = true
    return { account, pendings, parts: partsOf(pendings), permit: account.permit(pendings.length, carries), unsent }
  }

  #pack(account: Account, queue: LaneQueue): Pending[] {
    const { disposal, maxOperations, maxBytes } = this.#options
    const bytes = maxBytes - envelopeOverhead(account.apiKey())
    const operations = Math.min(maxOperations, account.room())
    return disposal.during(accept => queue.pack({ operations, bytes }, accept))
  }

  #takeSuspect(account: Account, { quarantine }: LaneQueue): Pending[] {
    return this.#options.disposal.during(accept =>
      account.gate.state === 'closed' ? quarantine.takeDue(account, accept) : quarantine.takeOldest(accept),
    )
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
