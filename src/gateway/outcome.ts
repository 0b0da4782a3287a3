import {
  asyncResponse,
  type ErrorCode,
  errorCodeOf,
  type OperationType,
  operations,
  type Payload,
} from '../protocol/index.ts'
import { type Classified, classify, httpStatuses, type ItemAnswer, parseObject } from './classify.ts'
import type { Answer } from './connection.ts'
import {
  AbortedError,
  AccessDeniedError,
  type GatewayError,
  InDoubtError,
  RefusedError,
  ThrottledError,
  UnreachableError,
  UnreadablePayloadError,
} from './errors.ts'

/** The result of one operation. */
export type ItemResult<T extends OperationType = OperationType> = T extends OperationType
  ? { ok: true; type: T; data: Payload<T> } | { ok: false; error: GatewayError }
  : never

/** Circumstances is what only the caller knows about a request. */
export interface Circumstances {
  /** Why the request was withheld or aborted, where it was. */
  abortCause: unknown
  /** Makes a text of the other side fit to be shown. */
  clean: (text: string) => string
}

/**
 * The results of an envelope's operations, or the one error that they share.
 * @param types of the operations, in the order they were sent
 */
export function outcomeOf(
  types: readonly OperationType[],
  classified: Classified,
  circumstances: Circumstances,
): { results: ItemResult[] } | { error: GatewayError } {
  if (classified.outcome === 'answered' || (classified.outcome === 'unknown' && classified.cause === 'items_differ')) {
    const doubt = classified.outcome === 'unknown' ? classified.error : ''
    return { results: classified.items.map((answer, i) => resultOf(types[i]!, answer, doubt, circumstances)) }
  }
  return { error: errorOf(classified, circumstances) }
}

/** The error of an envelope that was not answered item by item. */
export function errorOf(
  classified: Exclude<Classified, { outcome: 'answered' }>,
  { abortCause: cause, clean }: Circumstances,
): GatewayError {
  const message = clean(classified.error)
  if (classified.outcome === 'denied') return new AccessDeniedError(message)
  if (classified.outcome === 'refused') return refusalOf(classified.code, message)
  if (classified.outcome === 'unknown') {
    if (classified.cause === 'aborted') return new AbortedError(message, { definite: false, cause })
    return new InDoubtError(message, classified.cause)
  }
  const { reason, retryAfterMs } = classified
  if (reason === 'withheld') return new AbortedError(message, { definite: true, cause })
  return new (reason === 'throttled' ? ThrottledError : UnreachableError)(message, retryAfterMs)
}

export function refusalOf(code: ErrorCode, message: string): GatewayError {
  if (code === 'THROTTLED') return new ThrottledError(message, null)
  return code === 'ACCESS_DENIED' ? new AccessDeniedError(message) : new RefusedError(message, code)
}

function resultOf(type: OperationType, answer: ItemAnswer, doubt: string, { clean }: Circumstances): ItemResult {
  if (answer.kind === 'in_doubt') return { ok: false, error: new InDoubtError(doubt, 'items_differ') }
  if (answer.kind === 'refused') return { ok: false, error: refusalOf(answer.code, clean(answer.error)) }
  const { success, data, error } = operations[type].payload.safeParse(answer.data)
  if (success) return { ok: true, type, data } as ItemResult
  const problem = error.issues[0]?.message ?? 'the payload is of another shape'
  return { ok: false, error: new UnreadablePayloadError(`executed, but in the answer ${problem}`, answer.data) }
}

/** Tells what these statuses of the asynchronous interface mean, by the vendor's documentation. */
export const queueCodes: Readonly<Record<number, ErrorCode>> = { 400: 'VALIDATION', 401: 'ACCESS_DENIED' }
/** The first HTTP status that may come from something in front, after the request has been passed on. */
const failures = 500

/**
 * Says what an answer of the asynchronous interface means: queued under a request id, or not. Unlike the synchronous
 * endpoint it speaks in HTTP statuses (an assumption, from the vendor's documentation), and an answer that says
 * `success: false` is a definite refusal with any of them below 500. Of 500 and above nobody can tell, whatever the body
 * says: 503 is said to mean that the queue is unavailable, but who answered, and when, does not show.
 */
export function queuedOf(
  answer: Answer,
  errorTexts: Readonly<Record<string, ErrorCode>>,
  circumstances: Circumstances,
): { requestId: string } | { error: GatewayError } {
  if (answer.kind === 'response' && answer.status < failures) {
    const { status } = answer
    const body = asyncResponse.safeParse(parseObject(answer.body)).data
    if (body?.success && status < 300) return accepted(body.request_id, body)
    const text = circumstances.clean(body?.error ?? `HTTP ${status}`)
    const code = queueCodes[status]
    if (!body?.success && code) return { error: refusalOf(code, text) }
    if (body?.success === false && status !== httpStatuses.tooMany) {
      return { error: refusalOf(errorCodeOf(text, errorTexts), text) }
    }
  }
  // The answer cannot be `answered`: a body that says success was accepted above, unless its status is none of 2xx.
  const classified = classify([null], answer, errorTexts) as Exclude<Classified, { outcome: 'answered' }>
  return { error: errorOf(classified, circumstances) }
}

function accepted(requestId: string | undefined, body: unknown): { requestId: string } | { error: GatewayError } {
  if (requestId) return { requestId }
  return { error: new UnreadablePayloadError('queued, but the answer lacks request_id', body) }
}
