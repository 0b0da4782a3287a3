import type { Answer } from '../../src/gateway/connection.ts'
import { stringifyJson } from '../../src/protocol/index.ts'

/** An item of a response as the gateway writes it, or as a broken gateway would. */
export type AnyItem = Record<string, unknown>

/** An accepted item. */
export const sentItem = (id: unknown, data: Record<string, unknown> = {}): AnyItem => ({
  success: true,
  data: { id, msg_id: `m${id}`, parts: 1, ...data },
})

/** A refused item. */
export const refusedItem = (id: unknown, error = 'Error in Alpha-name'): AnyItem => ({
  success: false,
  error,
  data: { id },
})

/** An HTTP response, with status 200 by default. A string becomes the body unchanged, anything else becomes JSON. */
export function answered(
  body: unknown,
  changes: { status?: number; retryAfterMs?: number; request?: string } = {},
): Answer {
  const text = typeof body === 'string' ? body : stringifyJson(body)
  return { kind: 'response', request: '{}', status: 200, body: text, retryAfterMs: null, ...changes }
}

/** An accepted envelope with these items. */
export const itemsAnswer = (...items: unknown[]): Answer => answered({ success: true, data: items })

/** The refusal of a whole envelope. */
export const refusal = (error?: unknown): Answer => answered({ success: false, error })
