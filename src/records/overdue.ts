import type { BusRecord, OutgoingRecord, RecordHeaders } from '../bus/port.ts'
import type { SendResult } from './generated.ts'
import { numberIn, resultHeadersIn, shorterResult } from './result.ts'
import { orShorter } from './shorten.ts'

const askAtHeader = 'busgate.ask-at'
const askedHeader = 'busgate.asked'

/** Questions says how far the questions about an overdue message have come. */
export interface Questions {
  /** When the next one is due, milliseconds since 1970. */
  askAt: number
  /** Definite answers so far. */
  asked: number
}

/** @param record that the result came in */
export type WriteOverdue = (record: BusRecord, result: SendResult, questions: Questions) => OutgoingRecord

/** Writes overdue messages: the result's own bytes and headers, and the questions. A shorter one is encoded anew. */
export function createOverdueWriter(topic: string, encode: (result: SendResult) => Buffer): WriteOverdue {
  return ({ key, value, headers }, result, questions) =>
    orShorter({ topic, key, value, headers: withQuestions(headers, questions) }, () => ({
      topic,
      key: String(result.id),
      value: encode(shorterResult(result)),
      headers: withQuestions(resultHeadersIn(headers), questions),
    }))
}

/** The headers of an overdue message: its result's own, and the questions. */
export function withQuestions(headers: RecordHeaders, { askAt, asked }: Questions): RecordHeaders {
  return { ...headers, [askAtHeader]: String(Math.round(askAt)), [askedHeader]: String(asked) }
}

/** Tells what the headers of an overdue message tell; a result's own tell nothing. */
export function questionsIn(headers: RecordHeaders): { [K in keyof Questions]: number | null } {
  return { askAt: numberIn(headers, askAtHeader), asked: numberIn(headers, askedHeader) }
}
