import type { z } from 'zod'
import { operationObject, rcsFields, smsFields } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { sendPayload } from '../send-payload.ts'

/**
 * RCS, and SMS where RCS fails. `rcs_lifetime` in seconds, at least 60, 172800 when left out.
 * Specification: rcs+sms.
 */
export const rcsSms = {
  schema: operationObject('rcs+sms', { ...rcsFields, ...smsFields }),
  payload: sendPayload,
  section: 'rcs+sms',
  hook: 'accepted',
} satisfies Operation

export type RcsSmsOperation = z.infer<typeof rcsSms.schema>
