import type { z } from 'zod'
import { operationObject, rcsFields, smsFields } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'
import { requiresViberContent, viberContent, viberSignature, viberType } from '../viber.ts'

/**
 * RCS, then Viber, then SMS. What the Viber part requires depends on `viber_type`; a carousel has 2 to 5 slides.
 * `rcs_lifetime` in seconds, at least 60, 172800 when left out.
 * Specification: rcs+viber+sms.
 */
export const rcsViberSms = {
  schema: operationObject('rcs+viber+sms', {
    ...rcsFields,
    ...smsFields,
    viber_signature: viberSignature,
    viber_type: viberType,
    ...viberContent,
  }).check(requiresViberContent()),
  payload: sendPayload,
  section: 'rcs+viber+sms',
  hook: 'accepted',
} satisfies Operation

export type RcsViberSmsOperation = z.infer<typeof rcsViberSms.schema>
