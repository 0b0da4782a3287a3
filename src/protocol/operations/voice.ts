import { addressed, dtmf, hook, object, operationObject, text, voiceModelFields } from '../fields.ts'
import { contentIn, messageFacts } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'

/**
 * A call that speaks `message`. With `dtmf`, the callback's `reply` is the digit that the recipient pressed. The
 * specification does not name the required fields: `id` and `phone` are, as for every message; of the others only the types
 * are validated. It does not say whether `hook` is accepted. Specification: voice.
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
