import { addressed, dtmf, hook, object, operationObject, text, voiceModelFields } from '../fields.ts'
import { contentIn, messageFacts } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'

/**
 * A call that speaks `message`. With `dtmf` the digit that the recipient presses comes back as `reply` of the callback.
 * Which fields are required is not shown: `id` and `phone` are, as of every message, and of the others only the types
 * are checked. Whether `hook` is accepted is not shown either.
 * Specification: voice.
 */
export const voice = {
  ...messageFacts,
  schema: operationObject('voice', {
    ...addressed,
    message: text.describe('Text to be spoken.').optional(),
    voice: object(voiceModelFields)
      .partial()
      .meta({ expects: 'an object', description: 'The voice that speaks.' })
      .optional(),
    dtmf: dtmf.optional(),
    hook: hook.optional(),
  }),
  section: 'voice',
  hook: 'not shown',
  record: 'Voice',
  channels: ['voice'],
  missingContent: contentIn('message'),
} as const satisfies SendOperation
