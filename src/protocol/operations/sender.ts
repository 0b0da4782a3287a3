import { z } from 'zod'
import { operationObject } from '../fields.ts'
import type { Operation } from '../operation.ts'

/**
 * The account's alpha-names. No fields. The payload is not shown.
 * Specification: balance, sender, template/list, template/viber/list.
 */
export const sender = {
  schema: operationObject('sender', {}),
  payload: z.unknown(),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation

/** The fields of the operation `sender`, its `type` included. */
export type SenderOperation = z.infer<typeof sender.schema>

/** `data` of a successful answer to `sender`. */
export type SenderPayload = z.infer<typeof sender.payload>
