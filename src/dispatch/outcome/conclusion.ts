import type { ItemAnswer } from '../../gateway/classify.ts'
import type { ResultDetails } from '../../records/result.ts'
import { readPayload } from '../../records/result-payload.ts'
import type { ExpiryCode, Pending } from '../pending.ts'

/** Conclusion is what the answer means for a command, with what is known of its earlier POSTs. */
export type Conclusion =
  /** The command has its final result. */
  | { kind: 'result'; details: ResultDetails }
  /** The command was perhaps sent. */
  | { kind: 'doubt' }
  /** Known not to have been sent, by a ceiling: it waits again, and this was no attempt. */
  | { kind: 'again' }

/** The table of outcomes. Once in doubt, a command ends only SENT or UNRESOLVED. */
export function conclude(pending: Pending, answer: ItemAnswer, sentAt: number): Conclusion {
  const attempts = pending.attempts + 1
  if (answer.kind === 'in_doubt') return { kind: 'doubt' }
  if (answer.kind === 'sent') {
    const payload = readPayload(pending.command.type, answer.data)
    return { kind: 'result', details: { outcome: 'SENT', attempts, payload, sentAt } }
  }
  const { code, error } = answer
  if (code === 'THROTTLED') return { kind: 'again' }
  if (!pending.doubted)
    return { kind: 'result', details: { outcome: 'REJECTED', attempts, errorCode: code, error, sentAt } }
  // the gateway knows the id already: the earlier POST was executed
  if (code === 'DUPLICATE_ID') return { kind: 'result', details: { outcome: 'SENT', attempts, sentAt } }
  return { kind: 'result', details: { outcome: 'UNRESOLVED', attempts, errorCode: code, error, sentAt } }
}

/**
 * A command that may not be POSTed any more. What its envelopes were refused with last tells why it waited.
 * @param waitedFor why it waited, if it was not refused itself
 */
export function concludeExpired(
  { attempts, doubted, refusal }: Pending,
  errorCode: ExpiryCode,
  waitedFor?: string,
): ResultDetails {
  const outcome = doubted ? 'UNRESOLVED' : 'EXPIRED'
  const error = refusal?.error ?? waitedFor
  return { outcome, attempts, errorCode, ...(error !== undefined && { error }) }
}

/** @param unreadable why it could not be sent again, where that is so */
export function nobodyCouldTell(unreadable?: string): string {
  const text = 'nobody could tell whether it was sent'
  return unreadable === undefined ? text : `${text}, and it could not be sent again: ${unreadable}`
}
