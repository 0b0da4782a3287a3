import type { BusRecord, OutgoingRecord, RecordHeaders, TopicPartition } from '../bus/port.ts'
import { noHeaders } from '../bus/record-headers.ts'
import { type Echo, mayRepeat } from '../protocol/echo.ts'
import { isSendType, operations, otpCode, type SendType } from '../protocol/index.ts'
import { isObject } from '../protocol/json.ts'
import { flagOrNull, numberOrNull, textOrNull } from '../protocol/tolerant.ts'
import { traceHeaders, traceOf } from '../telemetry/trace.ts'
import type { CodePlace, ErrorCode } from '../vocabulary/lists.ts'
import type { CommandSubject } from './command.ts'
import { int32OrNull, intOrNull, jsonOrNull, objectOrNull, unreadPart } from './fields.ts'
import type {
  SendResult,
  SendResultHlr,
  SendResultHlrCountry,
  SendResultHlrNetwork,
  SendResultHlrOperator,
} from './generated.ts'
import { shortened, withShorter } from './shorten.ts'

/** Header of results whose message has an unusual lifetime: seconds, as decimal text. */
export const lifetimeHeader = 'busgate.lifetime'

/**
 * Header of results and dead letters of a command that has waited: offset of the copy that was released, or of the command if the
 * result names the place of its copy.
 */
export const copyAtHeader = 'busgate.later.copy'

/** Header with the one-time password of a call/otp if `results.otpCode` is `header`. */
const codeHeader = 'busgate.code'

/** A record with its partition: a command, or a record that cannot be read. */
export interface Origin extends TopicPartition {
  record: BusRecord
  /** If the command has waited: offset of the copy that was released, or of the command itself if this is its copy. */
  copyAt?: number
}

/** The command that a result is about, or the readable part of an invalid one. */
export interface ResultSubject extends Omit<CommandSubject, 'type'> {
  type: string
  /** Seconds, if the command sets it. */
  lifetime?: number | null
}

export interface ResultDetails {
  /** UNKNOWN exists only for readers, for outcomes of later versions. */
  outcome: Exclude<SendResult['outcome'], 'UNKNOWN'>
  attempts: number
  errorCode?: ErrorCode
  error?: string
  payload?: ResultPayload
  /** Time of the POST's first byte, milliseconds since 1970. */
  sentAt?: number
}

/** Characters after which an error text is cut. */
export const longestError = 1024

/** A version that fits any topic: identifies the command and its outcome. */
export const shorterResult = (result: SendResult): SendResult => shortened(result, ['error', 'account', 'type'])

export type WriteResult = (subject: ResultSubject, origin: Origin, details: ResultDetails) => OutgoingRecord

export interface ResultWriterOptions {
  topic: string
  encode: (result: SendResult) => Buffer
  now: () => number
  /** Where to write the one-time password of a call/otp. */
  codes: CodePlace
}

/** Writes results as records of the results topic, keyed by command id. */
export function createResultWriter({ topic, encode, now, codes }: ResultWriterOptions): WriteResult {
  const recordOf = (subject: ResultSubject, result: SendResult, { copyAt }: Origin): OutgoingRecord => ({
    topic,
    key: subject.idText,
    headers: headersOf(subject, codes === 'header' ? result.code : null, copyAt),
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
      // the rest of an answer with a code may contain it in another form
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
    return withShorter(recordOf(subject, result, origin), () => recordOf(subject, shorterResult(result), origin))
  }
}

const tellsCode = (type: string) => isSendType(type) && operations[type].answer === 'code'

/** Copies the code from the header into the result, so that readers find it in one place. */
export function withCodeOf(result: SendResult, headers: RecordHeaders): SendResult {
  const code = headers[codeHeader]
  return code === undefined || Array.isArray(code) ? result : { ...result, code: code.toString() }
}

const timeOf = ({ timestamp }: BusRecord) => (timestamp < 0 ? null : timestamp)

function headersOf({ lifetime = null, trace }: ResultSubject, code: string | null, copyAt?: number): RecordHeaders {
  if (lifetime === null && trace === null && code === null && copyAt === undefined) return noHeaders
  return {
    ...(code !== null && { [codeHeader]: code }),
    ...(lifetime !== null && { [lifetimeHeader]: String(lifetime) }),
    ...(trace !== null && traceHeaders(trace)),
    ...(copyAt !== undefined && { [copyAtHeader]: String(copyAt) }),
  }
}

/** The message's lifetime in seconds; null for the usual one of its type. */
export function lifetimeIn(headers: RecordHeaders): number | null {
  return numberIn(headers, lifetimeHeader)
}

/** Keeps only the headers of a result that busgate reads. */
export function resultHeadersIn(headers: RecordHeaders): RecordHeaders {
  const { [lifetimeHeader]: lifetime } = headers
  const trace = traceOf(headers)
  return {
    ...(lifetime && { [lifetimeHeader]: lifetime }),
    ...(trace && traceHeaders(trace)),
  }
}

/** The number in a header; null if it is missing, repeated, negative or not a number. */
export function numberIn(headers: RecordHeaders, name: string): number | null {
  const value = headers[name]
  if (value === undefined || Array.isArray(value)) return null
  const number = Number(value.toString())
  return Number.isFinite(number) && number >= 0 ? number : null
}

/** What an answer may repeat. */
export type AnswerEcho = Pick<Echo, 'id' | 'value'>

/** The data of a successful operation, as fields of a result. */
export type ResultPayload = Pick<SendResult, 'msgId' | 'parts' | 'code' | 'price' | 'hlr' | 'payload'>

export const noPayload: ResultPayload = { msgId: null, parts: null, code: null, price: null, hlr: null, payload: null }

/**
 * Reads the data of a successful item. Never fails, since the message was sent: fields that violate the specification stay in
 * `payload`.
 * @param echo what the answer may repeat
 */
export function readPayload(type: SendType, data: unknown, echo: AnswerEcho): ResultPayload {
  const rest = (value: unknown) => jsonOrNull(value, echo.value)
  if (!isObject(data)) return { ...noPayload, payload: rest(data) }
  if (operations[type].answer === 'message' && isPlainMessage(data)) {
    const payload = data.data === undefined ? null : `{"data":${data.data}}`
    return { ...noPayload, msgId: echo.id(String(data.msg_id)), parts: data.parts, payload }
  }
  const { answer } = operations[type]
  const id = textOrNull(data.id) // echo of the command's id
  if (answer === 'lookup') {
    const hlr = readHlr(data, echo)
    return { ...noPayload, hlr, payload: rest(hlr ? unreadPart(data, { id, ...hlr }) : data) }
  }
  if (answer === 'code') {
    const [code, price] = [echo.id(otpCode(data.code)), numberOrNull(data.price)]
    return { ...noPayload, code, price, payload: rest(unreadPart(data, { id, code, price })) }
  }
  const [msgId, parts] = [echo.id(textOrNull(data.msg_id)), int32OrNull(data.parts)]
  return { ...noPayload, msgId, parts, payload: rest(unreadPart(data, { id, msg_id: msgId, parts })) }
}

/** Whether the data is exactly the usual answer, as the specification shows it, so that the quick way reads the same. */
function isPlainMessage(
  given: Record<string, unknown>,
): given is { msg_id: string | number; parts: number; data?: number } {
  for (const name in given) if (name !== 'id' && name !== 'msg_id' && name !== 'parts' && name !== 'data') return false
  const { id, msg_id, parts, data } = given
  return (
    isPlainId(id) &&
    isPlainId(msg_id) &&
    typeof parts === 'number' &&
    (parts | 0) === parts &&
    (data === undefined || (typeof data === 'number' && Number.isInteger(data) && !mayRepeat(data)))
  )
}

const isPlainId = (id: unknown) => typeof id === 'string' || Number.isSafeInteger(id)

type Fields = Record<string, unknown>

type ReadText = (value: unknown) => string | null

function readHlr(fields: Fields, echo: AnswerEcho): SendResultHlr | null {
  const text = (value: unknown) => echo.value(textOrNull(value)) as string | null
  const phone = intOrNull(fields.phone)
  if (phone === null) return null
  return {
    phone,
    status: text(fields.status),
    imsi: echo.id(textOrNull(fields.imsi)),
    mccmnc: int32OrNull(fields.mccmnc),
    ported: flagOrNull(fields.ported),
    network: objectOrNull(fields.network, network => readNetwork(network, text)),
  }
}

const readNetwork = ({ origin, ported }: Fields, text: ReadText): SendResultHlrNetwork => ({
  origin: objectOrNull(origin, operator => readOperator(operator, text)),
  ported: objectOrNull(ported, operator => readOperator(operator, text)),
})

const readOperator = ({ name, prefix, country }: Fields, text: ReadText): SendResultHlrOperator => ({
  name: text(name),
  prefix: intOrNull(prefix),
  country: objectOrNull(country, country => readCountry(country, text)),
})

const readCountry = ({ name, prefix }: Fields, text: ReadText): SendResultHlrCountry => ({
  name: text(name),
  prefix: intOrNull(prefix),
})
