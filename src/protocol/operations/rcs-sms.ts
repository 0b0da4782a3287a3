import { operationObject, rcsFields, smsFields } from '../fields.ts'
import { contentIn, messageFacts, rcsContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'

/**
 * RCS, and SMS where RCS fails. `rcs_lifetime` in seconds, at least 60, 172800 when left out.
 * Specification: rcs+sms.
 */
export const rcsSms = {
  ...messageFacts,
  schema: operationObject('rcs+sms', { ...rcsFields, ...smsFields }),
  section: 'rcs+sms',
  record: 'RcsSms',
  channels: ['rcs', 'sms'],
  missingContent: contentIn(...rcsContentNames, 'sms_message'),
} as const satisfies SendOperation
