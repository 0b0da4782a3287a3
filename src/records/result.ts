import type { BusRecord, OutgoingRecord, RecordHeaders, TopicPartition } from '../bus/port.ts'
import { noHeaders } from '../bus/record-headers.ts'
import { type CodePlace, type ErrorCode, isSendType, operations } from '../protocol/index.ts'
import { type TraceContext, traceHeaders, traceOf } from '../telemetry/trace.ts'
import type { SendResult } from './generated.ts'
import { noPayload, type ResultPayload } from './result-payload.ts'
import { orShorter, shortened } from './shorten.ts'

/** The header on results of messages whose lifetime is not the usual one of their type: seconds, as decimal text. */
export const lifetimeHeader = 'busgate.lifetime'

/** The header that holds the one-time password of a call/otp where `delivery.codes` says `header`. */
const codeHeader = 'busgate.code'

/** A record and where it came from: the one of a command, or one that cannot be read. */
export interface Origin extends TopicPartition {
  record: BusRecord
}

/** Whom a result is about: a command, or what could be read of an invalid one. */
export interface ResultSubject {
  id: bigint
  /** The id as decimal text, which is the result's key. */
  idText: string
  type: string
  account: string
  hooked: boolean | null
  correlationId: string | null
  tenant: string | null
  campaign: string | null
  country: string | null
  /** Seconds, where the command says so. */
  lifetime?: number | null
  trace: TraceContext | null
}

export interface ResultDetails {
  /** Readers alone know UNKNOWN, which stands for outcomes of later versions. */
  outcome: Exclude<SendResult['outcome'], 'UNKNOWN'>
  attempts: number
  errorCode?: ErrorCode
  error?: string
  payload?: ResultPayload
  /** Milliseconds since 1970 of the first byte of the POST. */
  sentAt?: number
}

/** An error text is cut at this many characters. */
export const longestError = 1024

/** A result as every topic takes it: it tells what happened to which command. */
export const shorterResult = (result: SendResult): SendResult => shortened(result, ['error', 'account', 'type'])

export type WriteResult = (subject: ResultSubject, origin: Origin, details: ResultDetails) => OutgoingRecord

export interface ResultWriterOptions {
  topic: string
  encode: (result: SendResult) => Buffer
  now: () => number
  /** Where the one-time password of a call/otp goes. */
  codes: CodePlace
}

/** Writes results as records of the results topic, keyed by the command's id. */
export function createResultWriter({ topic, encode, now, codes }: ResultWriterOptions): WriteResult {
  const recordOf = (subject: ResultSubject, result: SendResult): OutgoingRecord => ({
    topic,
    key: subject.idText,
    headers: headersOf(subject, codes === 'header' ? result.code : null),
    value: encode(codes === 'result' ? result : { ...result, code: null }),
  })
  return (subject, origin, { outcome, attempts, errorCode, error, payload = noPayload, sentAt }) => {
    const result: SendResult = {
      id: subject.id,
      type: subject.type,
      account: subject.account,
      outcome,
      final: outcome !== 'IN_DOUBT',
      msgId: payload.msgId,
      parts: payload.parts,
      errorCode: errorCode ?? null,
      error: error?.slice(0, longestError) ?? null,
      code: payload.code,
      price: payload.price,
      hlr: payload.hlr,
      // A code that cannot be read is in here.
      payload: codes !== 'result' && tellsCode(subject.type) ? null : payload.payload,
      attempts,
      commandTopic: origin.topic,
      commandPartition: origin.partition,
      commandOffset: origin.record.offset,
      sentAt: sentAt ?? null,
      completedAt: now(),
      correlationId: subject.correlationId,
      tenant: subject.tenant,
      campaign: subject.campaign,
      hooked: subject.hooked,
      commandAt: timeOf(origin.record),
      country: subject.country,
    }
    return orShorter(recordOf(subject, result), () => recordOf(subject, shorterResult(result)))
  }
}

const tellsCode = (type: string) => isSendType(type) && operations[type].answer === 'code'

/** Gives a result the code that its header holds, so that its reader finds the code in one place. */
export function withCodeOf(result: SendResult, headers: RecordHeaders): SendResult {
  const code = headers[codeHeader]
  return code === undefined || Array.isArray(code) ? result : { ...result, code: code.toString() }
}

const timeOf = ({ timestamp }: BusRecord) => (timestamp < 0 ? null : timestamp)

/** Tells what most results do without. */
function headersOf({ lifetime = null, trace }: ResultSubject, code: string | null): RecordHeaders {
  if (lifetime === null && trace === null && code === null) return noHeaders
  return {
    ...(code !== null && { [codeHeader]: code }),
    ...(lifetime !== null && { [lifetimeHeader]: String(lifetime) }),
    ...(trace !== null && traceHeaders(trace)),
  }
}

/** Seconds that the message lives, where that is not the usual lifetime of its type. */
export function lifetimeIn(headers: RecordHeaders): number | null {
  return numberIn(headers, lifetimeHeader)
}

/** Picks the headers of a result that busgate makes use of. */
export function resultHeadersIn(headers: RecordHeaders): RecordHeaders {
  const { [lifetimeHeader]: lifetime } = headers
  const trace = traceOf(headers)
  return {
    ...(lifetime && { [lifetimeHeader]: lifetime }),
    ...(trace && traceHeaders(trace)),
  }
}

/** The number that a header holds once; null where it holds none, or one below zero. */
export function numberIn(headers: RecordHeaders, name: string): number | null {
  const value = headers[name]
  if (value === undefined || Array.isArray(value)) return null
  const number = Number(value.toString())
  return Number.isFinite(number) && number >= 0 ? number : null
}
