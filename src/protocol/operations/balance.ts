import { operationObject } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { openPayload, tolerantNumber, tolerantText } from '../tolerant.ts'

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
