import type { Account } from '../../accounts/account.ts'
import type { Session } from '../../bus/port.ts'
import { envelopeOverhead } from '../../gateway/connection.ts'
import { isSuspect, type Pending } from '../pending.ts'
import type { LaneQueue } from '../queues/lane-queue.ts'
import { type SettleExpiredOptions, settleExpired } from '../settler.ts'
import type { Envelope } from './delivery.ts'

export interface PackerOptions extends SettleExpiredOptions {
  maxOperations: number
  maxBytes: number
  lingerMs: number
  hasLease: () => boolean
}

/** Poll interval, since a regained lease is not announced. */
const leaseRetryMs = 100

/** Packs an envelope if the account and its rate allow it. @returns the envelope, or milliseconds to wait */
export function formEnvelope(
  options: PackerOptions,
  account: Account,
  queue: LaneQueue,
  urgency: number,
): Envelope | number {
  const { clock, lingerMs, maxOperations, hasLease } = options
  const isProbe = account.breaker.state !== 'closed'
  const due = queue.due(clock.monotonic(), lingerMs, maxOperations)
  if (due > 0) return due
  const { kind, length } = queue.next(isProbe)!
  const wait = account.wait(Math.min(maxOperations, length))
  if (wait > 0) return wait
  if (!hasLease()) return leaseRetryMs // its intents would only be taken back again
  const unsent = kind === 'halves' ? 'half' : 'first'
  const pendings = pack(options, account, queue, isProbe)
  const size = pendings.length
  if (size === 0) return 1 // all had expired, or their partitions were held; others may be due
  for (const pending of pendings) pending.packed = true
  const parts = partsOf(pendings)
  const permit = account.permit(size, isSuspect(pendings[0]!) ? 'suspect' : 'commands')
  return { urgency, account, pendings, size, parts, permit, unsent }
}

function pack(options: PackerOptions, account: Account, queue: LaneQueue, isProbe: boolean): Pending[] {
  const bytes = options.maxBytes - envelopeOverhead(account.apiKey())
  const operations = Math.min(options.maxOperations, account.room())
  return settleExpired(options, accept => queue.pack({ operations, bytes }, accept, isProbe))
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

/** Whether all partitions of an envelope may send. */
export const isOpen = ({ parts }: Envelope): boolean => Array.from(parts.keys()).every(({ open }) => open)
