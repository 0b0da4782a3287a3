import type { ItemAnswer } from '../gateway/classify.ts'
import { type AnswerEcho, type ResultDetails, readPayload } from '../records/result.ts'
import type { Expiry, Pending } from './pending.ts'

/** A POST that was answered. */
export interface Posted {
  /** Time of its first byte, milliseconds since 1970. */
  sentAt: number
  /** What the answer may repeat. */
  echo: AnswerEcho
}

/**
 * The table of outcomes: what the answer means for a command, given its earlier POSTs. A command that was once in doubt ends
 * only SENT or UNRESOLVED.
 * @returns the final result; `doubt` if it was perhaps sent; `again` if it was throttled, which is not an attempt
 */
export function conclude(
  pending: Pending,
  answer: ItemAnswer,
  { sentAt, echo }: Posted,
): ResultDetails | 'doubt' | 'again' {
  const attempts = pending.attempts + 1
  if (answer.kind === 'in_doubt') return 'doubt'
  if (answer.kind === 'sent') {
    const payload = readPayload(pending.command.type, answer.data, echo)
    return { outcome: 'SENT', attempts, payload, sentAt }
  }
  const { code, error } = answer
  if (code === 'THROTTLED') return 'again'
  // the gateway knows the id, so the earlier POST was executed
  if (pending.doubted && code === 'DUPLICATE_ID') return { outcome: 'SENT', attempts, sentAt }
  return { outcome: pending.doubted ? 'UNRESOLVED' : 'REJECTED', attempts, errorCode: code, error, sentAt }
}

/**
 * The result of a command that must not be POSTed any more. Unless it was withdrawn, its error is that of its last refusal.
 * @param waitedFor why it waited, if it was not refused itself
 */
export function concludeExpired(
  { attempts, doubted, refusal }: Pending,
  expired: Expiry,
  waitedFor?: string,
): ResultDetails {
  const outcome = doubted ? 'UNRESOLVED' : 'EXPIRED'
  const error = expired.error ?? refusal?.error ?? waitedFor
  return { outcome, attempts, errorCode: expired.errorCode, ...(error !== undefined && { error }) }
}

/** The result of a record that was perhaps sent, if what the gateway knows of its id counts for another record. */
export const provedForAnother = (attempts: number, sentAt?: number): ResultDetails => ({
  outcome: 'UNRESOLVED',
  attempts,
  errorCode: 'RESPONSE_LOST',
  error: 'another record has this id, and the gateway does not tell which of them it knows',
  ...(sentAt !== undefined && { sentAt }),
})

/** @param unreadable why it could not be sent again, if so */
export function nobodyCouldTell(unreadable?: string): string {
  const text = 'nobody could tell whether it was sent'
  return unreadable === undefined ? text : `${text}, and it could not be sent again: ${unreadable}`
}
