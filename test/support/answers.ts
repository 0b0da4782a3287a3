import type { Answer } from '../../src/gateway/connection.ts'
import { stringifyJson } from '../../src/protocol/index.ts'

/** An item of a response as the gateway writes it, or as a broken gateway would. */
export type AnyItem = Record<string, unknown>

/** The gateway took it. */
export const sentItem = (id: unknown, data: Record<string, unknown> = {}): AnyItem => ({
  success: true,
  data: { id, msg_id: `m${id}`, parts: 1, ...data },
})

/** The gateway refused it. */
export const refusedItem = (id: unknown, error = 'Error in Alpha-name'): AnyItem => ({
  success: false,
  error,
  data: { id },
})

/** What came back with HTTP 200: a text as it is, anything else as JSON. */
export function answered(body: unknown, changes: { status?: number; retryAfterMs?: number } = {}): Answer {
  const text = typeof body === 'string' ? body : stringifyJson(body)
  return { kind: 'response', status: 200, body: text, retryAfterMs: null, ...changes }
}

/** An accepted envelope with these items. */
export const itemsAnswer = (...items: unknown[]): Answer => answered({ success: true, data: items })

/** An envelope that was refused as a whole. */
export const refusal = (error?: unknown): Answer => answered({ success: false, error })
