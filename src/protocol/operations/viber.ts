import { addressed, hook, operationObject, shortLink, smsFields, text } from '../fields.ts'
import { contentIn, messageFacts, viberContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'
import {
  requiresViberContent,
  viberContent,
  viberLifetime,
  viberSignature,
  viberType,
  viberTypeMeaning,
} from '../viber.ts'

/**
 * A Viber message of the variant `viber_type`. The specification requires the button of `text+link` and `text+image+link`,
 * and 2 to 5 slides of a `carousel`. It does not say whether a variant requires message, image, link and signature; these are
 * optional here, and the gateway decides. Specification: viber.
 */
export const viber = {
  ...messageFacts,
  schema: operationObject('viber', {
    ...addressed,
    viber_type: viberType,
    viber_signature: viberSignature.optional(),
    ...viberContent,
    viber_lifetime: viberLifetime.optional(),
    hook: hook.optional(),
    short_link: shortLink.optional(),
  }).check(requiresViberContent(['viber_button', 'viber_carousel'])),
  section: 'viber',
  record: 'Viber',
  channels: ['viber'],
  missingContent: contentIn(...viberContentNames),
} as const satisfies SendOperation

/**
 * Viber with SMS as fallback. The specification does not name the required fields: `id` and `phone` are, as for every
 * message; of the others only the types are validated. `viber_type` may be any text, because its values are not listed here.
 * Specification: viber+sms.
 */
export const viberSms = {
  ...messageFacts,
  schema: operationObject('viber+sms', {
    ...addressed,
    sms_message: smsFields.sms_message.optional(),
    sms_signature: smsFields.sms_signature.optional(),
    viber_type: text.describe(viberTypeMeaning).optional(),
    viber_signature: viberSignature.optional(),
    ...viberContent,
    viber_lifetime: viberLifetime.optional(),
    short_link: shortLink.optional(),
    hook: hook.optional(),
  }),
  section: 'viber+sms',
  record: 'ViberSms',
  channels: ['viber', 'sms'],
  missingContent: contentIn(...viberContentNames, 'sms_message'),
} as const satisfies SendOperation
