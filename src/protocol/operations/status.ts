import { replies } from '../callback.ts'
import { operationObject } from '../fields.ts'
import { messageId } from '../ids.ts'
import type { Operation } from '../operation.ts'
import { openPayload, tolerantId, tolerantText } from '../tolerant.ts'

/**
 * The status of a message sent before. `id` is the caller's, not the gateway's. The payload is unspecified; by the vendor's
 * documentation, it has `id`, `type`, `status` and, for two-way Viber, `replies`. Specification: status.
 */
export const status = {
  schema: operationObject('status', { id: messageId }),
  payload: openPayload({ id: tolerantId, type: tolerantText, status: tolerantText, replies }),
  section: 'status',
  hook: 'none',
  echoesId: true,
  readOnly: true,
} satisfies Operation
