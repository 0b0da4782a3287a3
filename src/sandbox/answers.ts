import type { Reading } from './open-points.ts'

/*
 * The sandbox's error texts, items and answers. Items are built as JSON texts, which an answer only joins.
 */

/**
 * The sandbox's error texts. The first four are the specification's (Errors). The next four are known from public clients and
 * the gateway's XML transport. For the others, the specification gives no text.
 */
export const texts = {
  accessDenied: 'Access denied',
  alphaName: 'Error in Alpha-name',
  operator: 'Operator not supported',
  type: 'Invalid message type',
  money: 'Not enough money',
  throttle: 'THROTTLE',
  duplicate: 'DUPLICATE',
  phone: 'Please enter valid receiver phone number',
  smsText: 'Please enter SMS text',
  notFound: 'Message not found',
  unavailable: 'Service unavailable',
  method: 'Invalid request: use POST',
  contentType: 'Invalid request: Content-Type must be application/json',
  json: 'Invalid request: the body is not JSON',
  envelope: 'Invalid request: auth (string) and data (array of at least 1 operation) are required',
  tooManyOperations: 'Invalid request: too many operations',
} as const

/** @param data JSON text of the payload @param beside JSON text of fields beside it, followed by a comma */
export function acceptedItem(data: string, beside = ''): string {
  return `{"success":true,${beside}"data":${data}}`
}

/** @param echo the caller's identifier as a field, the only content of a refused item's `data` */
export function refusedItem(error: string, echo: string): string {
  return `{"success":false,"error":${JSON.stringify(error)},"data":{${echo.slice(0, -1)}}}`
}

export function isRefusedItem(item: string): boolean {
  return item.startsWith('{"success":false')
}

/** Result of an envelope: its items as JSON texts, or its refusal. */
export type Processed = { items: string[] } | { error: string }

export interface HttpReply {
  end: 'reply'
  status: number
  headers: Record<string, string>
  body: string
  dripping?: boolean
}

export type RequestEnd = HttpReply | { end: 'reset' } | { end: 'stall' }

const headers = { 'Content-Type': 'application/json' }

/** The answer of the synchronous interface: always HTTP 200; the result is in the envelope. */
export function syncReply(processed: Processed): HttpReply {
  if ('error' in processed) return refusedReply(200, processed.error)
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

/** The answer of the asynchronous interface; only callbacks report the outcomes. */
export function asyncReply(processed: Processed, requestId: string, reading: Reading<'asyncStatus'>): HttpReply {
  if ('error' in processed) {
    return refusedReply(reading === 'http' ? (statuses[processed.error] ?? 400) : 200, processed.error)
  }
  return { end: 'reply', status: 200, headers, body: `{"request_id":"${requestId}","success":true}` }
}

function refusedReply(status: number, error: string): HttpReply {
  return { end: 'reply', status, headers, body: `{"success":false,"error":${JSON.stringify(error)}}` }
}
