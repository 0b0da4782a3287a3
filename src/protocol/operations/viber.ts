import { addressed, hook, operationObject, shortLink } from '../fields.ts'
import { contentIn, messageFacts, viberContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'
import { requiresViberContent, viberContent, viberLifetime, viberSignature, viberType } from '../viber.ts'

/**
 * A Viber message of the variant that `viber_type` names. Its section requires the button of `text+link` and
 * `text+image+link` and the 2 to 5 slides of a `carousel`; whether a variant requires message, image, link and
 * signature is not shown, so they may be left out here and the gateway decides.
 * Specification: viber.
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
