import type { HttpReply, Processed } from './faults.ts'
import { texts } from './texts.ts'

const headers = { 'Content-Type': 'application/json' }

/** The endpoint's ordinary answer: always HTTP 200, the result is in the envelope. */
export function answered(processed: Processed): HttpReply {
  if ('error' in processed) return refused(200, processed.error)
  return { end: 'reply', status: 200, headers, body: `{"success":true,"data":[${processed.items.join(',')}]}` }
}

/** HTTP statuses of the asynchronous interface (public facts). */
const statuses: Readonly<Record<string, number>> = {
  [texts.accessDenied]: 401,
  [texts.method]: 405,
  [texts.tooManyOperations]: 413,
  [texts.contentType]: 415,
  [texts.unavailable]: 503,
}

/** The asynchronous interface's ordinary answer; what becomes of the operations, only callbacks tell. */
export function queued(processed: Processed, requestId: string): HttpReply {
  if ('error' in processed) return refused(statuses[processed.error] ?? 400, processed.error)
  return { end: 'reply', status: 200, headers, body: `{"request_id":"${requestId}","success":true}` }
}

function refused(status: number, error: string): HttpReply {
  return { end: 'reply', status, headers, body: `{"success":false,"error":${JSON.stringify(error)}}` }
}
