import type { BusRecord, OutgoingRecord, RecordHeaders } from '../bus/port.ts'
import type { SendResult } from './generated.ts'
import { numberIn, resultHeadersIn, shorterResult } from './result.ts'
import { withShorter } from './shorten.ts'

const askAtHeader = 'busgate.ask-at'
const askedHeader = 'busgate.asked'

/** Polling state of an overdue message. */
export interface Questions {
  /** Time of the next poll, milliseconds since 1970. */
  askAt: number
  /** Number of definite answers so far. */
  asked: number
}

/** @param record the record of the result */
export type WriteOverdue = (record: BusRecord, result: SendResult, questions: Questions) => OutgoingRecord

/** Writes overdue messages: the result's bytes and headers, and the polling state. A shorter one is encoded again. */
export function createOverdueWriter(topic: string, encode: (result: SendResult) => Buffer): WriteOverdue {
  return ({ key, value, headers }, result, questions) =>
    withShorter({ topic, key, value, headers: withQuestions(headers, questions) }, () => ({
      topic,
      key: String(result.id),
      value: encode(shorterResult(result)),
      headers: withQuestions(resultHeadersIn(headers), questions),
    }))
}

/** The headers of an overdue message: those of its result, and the polling state. */
export function withQuestions(headers: RecordHeaders, { askAt, asked }: Questions): RecordHeaders {
  return { ...headers, [askAtHeader]: String(Math.round(askAt)), [askedHeader]: String(asked) }
}

/** Reads the polling state from the headers of an overdue message; null values for a plain result. */
export function questionsIn(headers: RecordHeaders): { [K in keyof Questions]: number | null } {
  return { askAt: numberIn(headers, askAtHeader), asked: numberIn(headers, askedHeader) }
}
