import { operationObject, rcsFields, smsFields } from '../fields.ts'
import { contentIn, messageFacts, rcsContentNames, viberContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'
import { requiresViberContent, viberContent, viberSignature, viberType } from '../viber.ts'

/**
 * RCS, then Viber, then SMS. `viber_type` decides which Viber fields are required; a carousel has 2 to 5 slides.
 * `rcs_lifetime` in seconds, at least 60, default 172800. Specification: rcs+viber+sms.
 */
export const rcsViberSms = {
  ...messageFacts,
  schema: operationObject('rcs+viber+sms', {
    ...rcsFields,
    ...smsFields,
    viber_signature: viberSignature,
    viber_type: viberType,
    ...viberContent,
  }).check(requiresViberContent()),
  section: 'rcs+viber+sms',
  record: 'RcsViberSms',
  channels: ['rcs', 'viber', 'sms'],
  missingContent: contentIn(...rcsContentNames, ...viberContentNames, 'sms_message'),
} as const satisfies SendOperation
