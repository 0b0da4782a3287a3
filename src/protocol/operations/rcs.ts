import { operationObject, rcsFields, smsFields } from '../fields.ts'
import { contentIn, messageFacts, rcsContentNames, viberContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'
import { requiresViberContent, viberContent, viberSignature, viberType } from '../viber.ts'

/**
 * An RCS message with an image and a button, which opens `rcs_link`. `rcs_lifetime` in seconds, at least 60, default 172800.
 * Specification: rcs.
 */
export const rcs = {
  ...messageFacts,
  schema: operationObject('rcs', rcsFields),
  section: 'rcs',
  record: 'Rcs',
  channels: ['rcs'],
  missingContent: contentIn(...rcsContentNames),
} as const satisfies SendOperation

/** RCS with SMS as fallback. `rcs_lifetime` in seconds, at least 60, default 172800. Specification: rcs+sms. */
export const rcsSms = {
  ...messageFacts,
  schema: operationObject('rcs+sms', { ...rcsFields, ...smsFields }),
  section: 'rcs+sms',
  record: 'RcsSms',
  channels: ['rcs', 'sms'],
  missingContent: contentIn(...rcsContentNames, 'sms_message'),
} as const satisfies SendOperation

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
