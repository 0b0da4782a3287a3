import { operationObject, rcsFields } from '../fields.ts'
import { contentIn, messageFacts, rcsContentNames } from '../message-facts.ts'
import type { SendOperation } from '../operation.ts'

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
