import { z } from 'zod'
import { must } from './messages.ts'
import type { MissingContent } from './operation.ts'
import { tolerantId, tolerantNumber } from './tolerant.ts'

/**
 * `data` of a sent message (specification: Send result payload): `msg_id` is the gateway's identifier, `id` the echo of
 * the caller's, `parts` the number of parts billed. The meaning of `data` is not shown.
 */
const sendPayload = z.looseObject(
  {
    id: tolerantId,
    msg_id: z.union([z.string(), z.number(), z.bigint()], { error: must("the gateway's identifier") }),
    parts: tolerantNumber,
    data: z.unknown().optional(),
  },
  { error: must('an object') },
)

/** The facts of a message that is sent to a phone, for its operation to begin with and to differ from where it does. */
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

export const viberContentNames = ['viber_message', 'viber_image', 'viber_link', 'viber_carousel']
export const rcsContentNames = ['rcs_message', 'rcs_image', 'rcs_link']

/**
 * Makes the `missingContent` of an operation that any one of these fields gives something to tell. The interface does not
 * require it of every type, but whoever fills in no field of a record most likely meant another one.
 */
export const contentIn =
  (...names: string[]): MissingContent =>
  operation => {
    if (names.some(name => isFilled(operation[name]))) return null
    const wanted = operation.viber_type === 'image' ? 'viber_image' : 'viber_message'
    return names.filter(name => name === wanted || (name.endsWith('message') && !name.startsWith('viber'))).join(' or ')
  }

/** The `missingContent` of an operation that tells its recipient nothing of the caller's. */
export const noContent: MissingContent = () => null

export const isFilled = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))
