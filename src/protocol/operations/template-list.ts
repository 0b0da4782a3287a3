import { z } from 'zod'
import { operationObject } from '../fields.ts'
import { must } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { tolerantId, tolerantText } from '../tolerant.ts'

/** `count` reads `<characters> / <parts>`; `datetime` is the creation, ISO 8601 with a time-zone offset. */
const template = z.looseObject({
  id: tolerantId,
  name: tolerantText,
  template: tolerantText,
  count: tolerantText,
  datetime: tolerantText,
})

/**
 * The account's SMS templates. No fields.
 * Specification: balance, sender, template/list, template/viber/list; SMS template record.
 */
export const templateList = {
  schema: operationObject('template/list', {}),
  payload: z.array(template, { error: must('a list of templates') }),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation

/** The fields of the operation `template/list`, its `type` included. */
export type TemplateListOperation = z.infer<typeof templateList.schema>

/** `data` of a successful answer to `template/list`. */
export type TemplateListPayload = z.infer<typeof templateList.payload>
