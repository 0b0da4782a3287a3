import type { BusRecord, OutgoingRecord, RecordHeaders, TopicPartition } from '../bus/port.ts'
import { noHeaders, sharedHeaders } from '../bus/record-headers.ts'
import { inVersions } from '../bus/shorter.ts'
import type { ErrorCode } from '../protocol/index.ts'
import { type TraceContext, traceHeaders, traceOf } from '../telemetry/trace.ts'
import type { SendResult } from './generated.ts'
import { noPayload, type ResultPayload } from './result-payload.ts'
import { type Shortening, shortened } from './shorten.ts'

/** The header on results of messages whose lifetime is not the usual one of their type: seconds, as decimal text. */
export const lifetimeHeader = 'busgate.lifetime'

/**
 * The header on results of messages that went without a hook of their own, `none`. Only for these does an unverified
 * status count.
 */
export const hookHeader = 'busgate.hook'
const noHook = 'none'
/** Most results have these headers where no callbacks are set up. */
const unhookedHeaders = sharedHeaders({ [hookHeader]: noHook })

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
  correlationId: string | null
  tenant: string | null
  /** Seconds, where the command says so. */
  lifetime?: number | null
  /** Whether no hook of its own went with it. */
  unhooked?: boolean
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

const tellable = ['payload', 'hlr', 'msgId', 'code', 'correlationId', 'tenant'] as const
const needed = ['error', 'account', 'type'] as const

/** How a result becomes shorter. What happened to which command is told by each. */
export const resultShortenings: readonly Shortening<SendResult>[] = [
  { out: ['payload'], longest: 512 },
  { out: tellable, cut: needed, longest: 512 },
  { out: tellable, cut: needed, longest: 64 },
]

export type WriteResult = (subject: ResultSubject, origin: Origin, details: ResultDetails) => OutgoingRecord

/** Writes results as records of the results topic, keyed by the command's id. */
export function createResultWriter(
  topic: string,
  encode: (result: SendResult) => Buffer,
  now: () => number,
): WriteResult {
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
      payload: payload.payload,
      attempts,
      commandTopic: origin.topic,
      commandPartition: origin.partition,
      commandOffset: origin.record.offset,
      sentAt: sentAt ?? null,
      completedAt: now(),
      correlationId: subject.correlationId,
      tenant: subject.tenant,
    }
    return inVersions(resultShortenings.length, version => ({
      topic,
      key: subject.idText,
      headers: headersOf(subject),
      value: encode(version === 0 ? result : shortened(result, resultShortenings.slice(0, version))),
    }))
  }
}

/** Tells what most results do without. */
function headersOf({ lifetime = null, unhooked = false, trace }: ResultSubject): RecordHeaders {
  if (lifetime === null && trace === null) return unhooked ? unhookedHeaders : noHeaders
  return {
    ...(unhooked && unhookedHeaders),
    ...(lifetime !== null && { [lifetimeHeader]: String(lifetime) }),
    ...(trace !== null && traceHeaders(trace)),
  }
}

/** Seconds that the message lives, where that is not the usual lifetime of its type. */
export function lifetimeIn(headers: RecordHeaders): number | null {
  return numberIn(headers, lifetimeHeader)
}

/** Tells whether the message went without a hook of its own. */
export function isUnhooked(headers: RecordHeaders): boolean {
  return headers[hookHeader]?.toString() === noHook
}

/** Picks the headers of a result that busgate makes use of. */
export function resultHeadersIn(headers: RecordHeaders): RecordHeaders {
  const { [lifetimeHeader]: lifetime, [hookHeader]: hook } = headers
  const trace = traceOf(headers)
  return {
    ...(lifetime && { [lifetimeHeader]: lifetime }),
    ...(hook && { [hookHeader]: hook }),
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
