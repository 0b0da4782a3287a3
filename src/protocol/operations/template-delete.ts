import { z } from 'zod'
import { operationObject, text } from '../fields.ts'
import type { Operation } from '../operation.ts'

/**
 * Deletes SMS templates by `id` (text), by their exact text, or by both; what happens when neither is given is not
 * shown. The payload's field names are not shown; it holds the number of templates deleted.
 * Specification: template/delete.
 */
export const templateDelete = {
  schema: operationObject('template/delete', {
    id: text.describe('Identifier of the template.').optional(),
    template: text.describe('Exact text of the template.').optional(),
  }),
  payload: z.unknown(),
  section: 'template/delete',
  hook: 'none',
  echoesId: false,
  readOnly: false,
} satisfies Operation

/** The fields of the operation `template/delete`, its `type` included. */
export type TemplateDeleteOperation = z.infer<typeof templateDelete.schema>

/** `data` of a successful answer to `template/delete`. */
export type TemplateDeletePayload = z.infer<typeof templateDelete.payload>
