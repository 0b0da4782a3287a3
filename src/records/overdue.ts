import type { BusRecord, OutgoingRecord, RecordHeaders } from '../bus/port.ts'
import type { SendResult } from './generated.ts'
import { numberIn, resultHeadersIn, shorterResult } from './result.ts'
import { withShorter } from './shorten.ts'

const askAtHeader = 'busgate.ask-at'
const askedHeader = 'busgate.asked'
const unreadStatusHeader = 'busgate.unread-status'
const unreadSinceHeader = 'busgate.unread-since'

/** Polling state of an overdue message. */
export interface PollState {
  /** Time of the next poll, milliseconds since 1970. */
  pollAt: number
  /** Number of definite answers so far. */
  answers: number
  /** Places of status events that cannot be read yet, as text; null if there are none. */
  unreadStatus?: string | null
}

/** @param record the record of the result */
export type WriteOverdue = (record: BusRecord, result: SendResult, pollState: PollState) => OutgoingRecord

/** Writes overdue messages: the result's bytes and headers, and the polling state. A shorter one is encoded again. */
export function createOverdueWriter(topic: string, encode: (result: SendResult) => Buffer): WriteOverdue {
  return ({ key, value, headers }, result, pollState) =>
    withShorter({ topic, key, value, headers: withPollState(headers, pollState) }, () => ({
      topic,
      key: String(result.id),
      value: encode(shorterResult(result)),
      headers: withPollState(resultHeadersIn(headers), pollState),
    }))
}

/** Writes a result that cannot be read yet, to be read again later. @param since milliseconds since 1970 */
export const createUnreadWriter =
  (topic: string) =>
  ({ key, value, headers }: BusRecord, since: number): OutgoingRecord => ({
    topic,
    key,
    value,
    headers: { ...headers, [unreadSinceHeader]: String(since) },
  })

/** Since when a result could not be read, milliseconds since 1970; null if it was not written by `createUnreadWriter`. */
export const unreadSince = (headers: RecordHeaders): number | null => numberIn(headers, unreadSinceHeader)

/** The headers of an overdue message: those of its result, and the polling state. */
export function withPollState(headers: RecordHeaders, { pollAt, answers, unreadStatus }: PollState): RecordHeaders {
  const { [unreadStatusHeader]: _, ...others } = headers
  return {
    ...others,
    [askAtHeader]: String(Math.round(pollAt)),
    [askedHeader]: String(answers),
    ...(unreadStatus && { [unreadStatusHeader]: unreadStatus }),
  }
}

/** Places of status events that could not be read when the message was written. */
export const unreadStatusIn = (headers: RecordHeaders): RecordHeaders[string] => headers[unreadStatusHeader]

/** Reads the polling state from the headers of an overdue message; null values for a plain result. */
export function pollStateIn(headers: RecordHeaders): { [K in 'pollAt' | 'answers']: number | null } {
  return { pollAt: numberIn(headers, askAtHeader), answers: numberIn(headers, askedHeader) }
}
