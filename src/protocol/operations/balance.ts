import type { z } from 'zod'
import { operationObject } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { openPayload, tolerantNumber, tolerantText } from '../tolerant.ts'

/**
 * Asks what is left on the account. It has no fields. The payload is not shown; the vendor's documentation has `amount` and
 * `currency`.
 * Specification: balance, sender, template/list, template/viber/list.
 */
export const balance = {
  schema: operationObject('balance', {}),
  payload: openPayload({ amount: tolerantNumber, currency: tolerantText }),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation

/** The fields of the operation `balance`, its `type` included. */
export type BalanceOperation = z.infer<typeof balance.schema>

/** `data` of a successful answer to `balance`. */
export type BalancePayload = z.infer<typeof balance.payload>
