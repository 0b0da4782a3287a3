import { z } from 'zod'
import { operationObject } from '../fields.ts'
import type { Operation } from '../operation.ts'

/**
 * The account's Viber templates. No fields. The payload's field names are not shown; it holds id, text, signature and
 * moderation status of each.
 * Specification: balance, sender, template/list, template/viber/list.
 */
export const templateViberList = {
  schema: operationObject('template/viber/list', {}),
  payload: z.unknown(),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation

/** The fields of the operation `template/viber/list`, its `type` included. */
export type TemplateViberListOperation = z.infer<typeof templateViberList.schema>

/** `data` of a successful answer to `template/viber/list`. */
export type TemplateViberListPayload = z.infer<typeof templateViberList.payload>
