import { Echo } from '../protocol/echo.ts'
import { asyncResponse, errorCodeOf, type OperationType, operations, type Payload } from '../protocol/index.ts'
import type { ErrorCode } from '../vocabulary/lists.ts'
import { type Classified, classify, contentOf, httpStatuses, type ItemAnswer, parseObject } from './classify.ts'
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

/** Facts about a request that only the caller knows. */
export interface Circumstances {
  /** Why the request was withheld or aborted, if it was. */
  abortCause: unknown
}

/**
 * The results of an envelope's operations, or their common error.
 * @param types of the operations, in the order they were sent
 */
export function outcomeOf(
  types: readonly OperationType[],
  classified: Classified,
  circumstances: Circumstances,
): { results: ItemResult[] } | { error: GatewayError } {
  if (classified.outcome === 'answered' || (classified.outcome === 'unknown' && classified.cause === 'items_differ')) {
    const doubt = classified.outcome === 'unknown' ? classified.error : ''
    return { results: classified.items.map((answer, i) => resultOf(types[i]!, answer, doubt)) }
  }
  return { error: errorOf(classified, circumstances) }
}

/** The error of an envelope without individual outcomes. */
export function errorOf(
  classified: Exclude<Classified, { outcome: 'answered' }>,
  { abortCause: cause }: Circumstances,
): GatewayError {
  const message = classified.error
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

function resultOf(type: OperationType, answer: ItemAnswer, doubt: string): ItemResult {
  if (answer.kind === 'in_doubt') return { ok: false, error: new InDoubtError(doubt, 'items_differ') }
  if (answer.kind === 'refused') return { ok: false, error: refusalOf(answer.code, answer.error) }
  const content = type === 'status' ? contentOf(answer) : answer.data
  const { success, data, error } = operations[type].payload.safeParse(content)
  if (success) return { ok: true, type, data } as ItemResult
  const problem = error.issues[0]?.message ?? 'the payload has another shape'
  return {
    ok: false,
    error: new UnreadablePayloadError(`executed, but the answer is invalid: ${problem}`, content),
  }
}

/** HTTP statuses of the asynchronous interface, by the vendor's documentation. */
export const queueCodes: Readonly<Record<number, ErrorCode>> = { 400: 'VALIDATION', 401: 'ACCESS_DENIED' }
/** From this HTTP status on, a proxy may have forwarded the request before it answered. */
const failures = 500

/**
 * Interprets an answer of the asynchronous interface: queued with a request id, or not. By the vendor's documentation (an
 * assumption), it uses HTTP statuses. Below 500, `success: false` is a definite refusal. From 500 on the outcome is unknown
 * whatever the body says: 503 should mean that the queue is unavailable, but a proxy may have sent it.
 */
export function queuedOf(
  answer: Answer,
  errorTexts: Readonly<Record<string, ErrorCode>> | undefined,
  circumstances: Circumstances,
): { requestId: string } | { error: GatewayError } {
  if (answer.kind === 'response' && answer.status < failures) {
    const { status } = answer
    const body = asyncResponse.safeParse(parseObject(answer.body)).data
    if (body?.success && status < 300) return accepted(body.request_id, body)
    const told = body?.error ?? `HTTP ${status}`
    const text = Echo.of(answer.request).text(told)
    const code = queueCodes[status]
    if (!body?.success && code) return { error: refusalOf(code, text) }
    if (body?.success === false && status !== httpStatuses.tooMany) {
      return { error: refusalOf(errorCodeOf(told, errorTexts), text) }
    }
  }
  // never `answered`: a body with `success: true` and a 2xx status was accepted above
  const classified = classify([null], answer, errorTexts) as Exclude<Classified, { outcome: 'answered' }>
  return { error: errorOf(classified, circumstances) }
}

function accepted(requestId: string | undefined, body: unknown): { requestId: string } | { error: GatewayError } {
  if (requestId) return { requestId }
  return { error: new UnreadablePayloadError('queued, but the answer lacks request_id', body) }
}
