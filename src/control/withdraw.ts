import type { OutgoingRecord } from '../bus/port.ts'
import { endText } from '../words.ts'
import { deletionOf, endOf, keyOf, type Withdrawal, type Withdrawn, writeChange } from './change.ts'
import type { ControlTopic } from './read.ts'

const hourMs = 3_600_000
export const usualWithdrawalMs = 24 * hourMs
const longestWithdrawalMs = 30 * 24 * hourMs
/** A tenth of what workers keep (`mostInForce`). */
const mostWithdrawals = 10_000
/** Most expired withdrawals whose records are deleted with each new one. */
const mostDeletions = 1_000

/** What to withdraw; for a message, its id and account. */
export interface WithdrawnNames {
  campaign?: string | undefined
  correlationId?: string | undefined
  tenant?: string | undefined
  id?: bigint | number | undefined
  account?: string | undefined
}

/** @returns null if none or several names are given */
export function withdrawnBy({
  campaign,
  correlationId,
  tenant,
  id,
  account = 'default',
}: WithdrawnNames): Withdrawn | null {
  const message = id === undefined ? undefined : `${account}/${id}`
  const names = [
    { kind: 'campaign', name: campaign },
    { kind: 'correlation_id', name: correlationId },
    { kind: 'tenant', name: tenant },
    { kind: 'message', name: message },
  ] as const
  const [one, ...others] = names.flatMap(({ kind, name }) => (name === undefined ? [] : { kind, name }))
  return one && others.length === 0 ? { effect: 'withdrawn', ...one } : null
}

/**
 * A withdrawal as records of the control topic, with tombstones for expired withdrawals.
 * @param known content of the topic; null if unknown
 * @throws Error that says why the withdrawal is invalid, and what to do
 */
export function recordsOf(topic: string, withdrawal: Withdrawal, known: ControlTopic | null): OutgoingRecord[] {
  const flaw = flawOf(withdrawal) ?? (known && tooManyText(withdrawal, known))
  if (flaw) throw new Error(flaw)
  const key = keyOf(withdrawal)
  const over = (known?.over ?? []).filter(one => keyOf(one) !== key).slice(0, mostDeletions)
  return [writeChange(topic, withdrawal), ...over.map(one => deletionOf(topic, one))]
}

function flawOf({ name, until, at, reason }: Withdrawal): string | null {
  if (name === '') return 'a withdrawal needs the name of what is withdrawn'
  if (!reason?.trim()) return 'a withdrawal needs a reason: every result contains it'
  if (until === null || until <= at) return 'a withdrawal must end after it begins'
  return until > at + longestWithdrawalMs ? 'a withdrawal ends after 30 days at most: name an earlier time' : null
}

function tooManyText(withdrawal: Withdrawal, { inForce, life }: ControlTopic): string | null {
  const others = inForce.filter(one => one.effect === 'withdrawn' && keyOf(one) !== keyOf(withdrawal))
  if (others.length < mostWithdrawals) return null
  const end = Math.min(...others.map(one => endOf(one, life)))
  return (
    `${others.length} withdrawals are in force, the most there can be; the first is over at ${endText(end)}. ` +
    'Withdraw a campaign, a correlationId or a tenant instead of single messages, or end others (busgate withdraw --end)'
  )
}
