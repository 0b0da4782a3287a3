import { z } from 'zod'
import { operationObject, text } from '../fields.ts'
import type { Operation } from '../operation.ts'

/**
 * Creates a Viber template of the text `template`, for moderation. The payload's field names are not shown; it holds id
 * and moderation status.
 * Specification: template/viber/create.
 */
export const templateViberCreate = {
  schema: operationObject('template/viber/create', {
    template: text.describe('Text of the template.'),
    signature: text.describe('Sender signature of the template.').optional(),
  }),
  payload: z.unknown(),
  section: 'template/viber/create',
  hook: 'none',
  echoesId: false,
  readOnly: false,
} satisfies Operation

/** The fields of the operation `template/viber/create`, its `type` included. */
export type TemplateViberCreateOperation = z.infer<typeof templateViberCreate.schema>

/** `data` of a successful answer to `template/viber/create`. */
export type TemplateViberCreatePayload = z.infer<typeof templateViberCreate.payload>
