import { z } from 'zod'
import { operationObject, text } from '../fields.ts'
import { must } from '../messages.ts'
import type { Operation } from '../operation.ts'

const isInteger = (value: unknown): boolean => typeof value === 'bigint' || Number.isSafeInteger(value)

const error = must(`a whole number (a bigint beyond ${Number.MAX_SAFE_INTEGER})`)

/**
 * Deletes Viber templates by `id` (an integer, where template/delete takes text), by their exact text, or by both. The
 * payload's field names are not shown; it holds the number of templates deleted.
 * Specification: template/viber/delete.
 */
export const templateViberDelete = {
  schema: operationObject('template/viber/delete', {
    id: z
      .custom<number | bigint>(isInteger, { error })
      .meta({ expects: 'a whole number', description: 'Identifier of the template.' })
      .optional(),
    template: text.describe('Exact text of the template.').optional(),
  }),
  payload: z.unknown(),
  section: 'template/viber/delete',
  hook: 'none',
  echoesId: false,
  readOnly: false,
} satisfies Operation

/** The fields of the operation `template/viber/delete`, its `type` included. */
export type TemplateViberDeleteOperation = z.infer<typeof templateViberDelete.schema>

/** `data` of a successful answer to `template/viber/delete`. */
export type TemplateViberDeletePayload = z.infer<typeof templateViberDelete.payload>
