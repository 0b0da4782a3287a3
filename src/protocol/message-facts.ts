import { z } from 'zod'
import type { MissingContent } from './operation.ts'
import { openPayload, tolerantId, tolerantNumber } from './tolerant.ts'

/**
 * `data` of a sent message (specification: Send result payload): `msg_id` is the gateway's identifier, `id` echoes the
 * caller's, `parts` is the number of billed parts. The inner `data` is unspecified. A successful item is a success whatever it
 * lacks, as on the topic of results.
 */
const sendPayload = openPayload({
  id: tolerantId,
  msg_id: tolerantId,
  parts: tolerantNumber,
  data: z.unknown().optional(),
})

/** Defaults of operations that send to a phone; an operation overrides what differs. */
export const messageFacts = {
  payload: sendPayload,
  hook: 'accepted',
  echoesId: true,
  readOnly: false,
  answer: 'message',
  hasStatus: true,
  alone: false,
  policy: null,
  urgent: false,
} as const

export const viberContentNames = ['viber_message', 'viber_image', 'viber_link', 'viber_carousel'] as const
export const rcsContentNames = ['rcs_message', 'rcs_image', 'rcs_link']

/**
 * Creates the `missingContent` of an operation that needs one of these fields. The interface does not require content for
 * every type, but a command without any most likely uses the wrong record.
 */
export const contentIn =
  (...names: string[]): MissingContent =>
  operation => {
    if (names.some(name => isFilled(operation[name]))) return null
    const wanted = operation.viber_type === 'image' ? 'viber_image' : 'viber_message'
    return names.filter(name => name === wanted || (name.endsWith('message') && !name.startsWith('viber'))).join(' or ')
  }

/** `missingContent` of an operation without content. */
export const noContent: MissingContent = () => null

export const isFilled = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))
