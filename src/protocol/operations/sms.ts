import { addressed, flag, hook, lifetime, operationObject, shortLink, smsFields } from '../fields.ts'
import { contentIn, messageFacts } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'

/**
 * A text message. `sms_lifetime` in seconds, 3600 to 259200, default 172800. `short_link` and `unsubscribe_link` depend on
 * the tariff. Specification: sms.
 */
export const sms = {
  ...messageFacts,
  schema: operationObject('sms', {
    ...addressed,
    ...smsFields,
    hook: hook.optional(),
    short_link: shortLink.optional(),
    sms_lifetime: lifetime(3600, 259_200).optional(),
    unsubscribe_link: flag.describe('Whether a link to unsubscribe is added, according to the tariff.').optional(),
  }),
  section: 'sms',
  record: 'Sms',
  channels: ['sms'],
  missingContent: contentIn('sms_message'),
} as const satisfies SendOperation
