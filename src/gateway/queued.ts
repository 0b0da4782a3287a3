import { asyncResponse, type ErrorCode, errorCodeOf } from '../protocol/index.ts'
import type { Answer } from './answer.ts'
import { type Classified, classify, httpStatuses, parseObject } from './classify.ts'
import { type GatewayError, UnreadablePayloadError } from './errors.ts'
import { type Circumstances, errorOf, refusalOf } from './outcome.ts'

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
  return { error: new UnreadablePayloadError('queued, but in the answer request_id is missing', body) }
}
