import { operationObject, rcsFields, smsFields } from '../fields.ts'
import { contentIn, messageFacts, rcsContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'

/** RCS with SMS as fallback. `rcs_lifetime` in seconds, at least 60, default 172800. Specification: rcs+sms. */
export const rcsSms = {
  ...messageFacts,
  schema: operationObject('rcs+sms', { ...rcsFields, ...smsFields }),
  section: 'rcs+sms',
  record: 'RcsSms',
  channels: ['rcs', 'sms'],
  missingContent: contentIn(...rcsContentNames, 'sms_message'),
} as const satisfies SendOperation
