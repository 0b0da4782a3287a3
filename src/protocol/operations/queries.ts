import { z } from 'zod'
import { replies } from '../callback.ts'
import { operationObject } from '../fields.ts'
import { messageId } from '../ids.ts'
import type { Operation } from '../operation.ts'
import { openPayload, tolerantId, tolerantNumber, tolerantText } from '../tolerant.ts'

/**
 * Queries the account's balance. No fields. The payload is unspecified; by the vendor's documentation, it has `amount` and
 * `currency`. Specification: balance, sender, template/list, template/viber/list.
 */
export const balance = {
  schema: operationObject('balance', {}),
  payload: openPayload({ amount: tolerantNumber, currency: tolerantText }),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation

/**
 * The account's alpha-names. No fields. The payload is unspecified. Specification: balance, sender, template/list,
 * template/viber/list.
 */
export const sender = {
  schema: operationObject('sender', {}),
  payload: z.unknown(),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation

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
