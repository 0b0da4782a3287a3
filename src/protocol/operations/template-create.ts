import { z } from 'zod'
import { operationObject, text } from '../fields.ts'
import type { Operation } from '../operation.ts'

/**
 * Creates an SMS template of the text `template`. The payload's field names are not shown; it holds id, text, name and
 * the count of characters and parts.
 * Specification: template/create.
 */
export const templateCreate = {
  schema: operationObject('template/create', {
    template: text.describe('Text of the template.'),
    name: text.describe('Name of the template.').optional(),
  }),
  payload: z.unknown(),
  section: 'template/create',
  hook: 'none',
  echoesId: false,
  readOnly: false,
} satisfies Operation

/** The fields of the operation `template/create`, its `type` included. */
export type TemplateCreateOperation = z.infer<typeof templateCreate.schema>

/** `data` of a successful answer to `template/create`. */
export type TemplateCreatePayload = z.infer<typeof templateCreate.payload>
