import { z } from 'zod'
import { operationObject, text } from '../fields.ts'
import { must } from '../messages.ts'
import type { Operation } from '../operation.ts'
import { answerObject, tolerantId, tolerantText } from '../tolerant.ts'

/** Common properties of template operations. The field names of their payloads are unspecified. */
const facts = { payload: z.unknown(), hook: 'none', echoesId: false } as const
const lists = { ...facts, section: 'balance, sender, template/list, template/viber/list', readOnly: true } as const

/**
 * Creates an SMS template with the text `template`. The payload has id, text, name and the count of characters and parts.
 * Specification: template/create.
 */
export const templateCreate = {
  ...facts,
  schema: operationObject('template/create', {
    template: text.describe('Text of the template.'),
    name: text.describe('Name of the template.').optional(),
  }),
  section: 'template/create',
  readOnly: false,
} satisfies Operation

/**
 * Deletes SMS templates by `id` (text), by exact text, or by both; the result without either is unspecified. The payload has
 * the number of deleted templates. Specification: template/delete.
 */
export const templateDelete = {
  ...facts,
  schema: operationObject('template/delete', {
    id: text.describe('Identifier of the template.').optional(),
    template: text.describe('Exact text of the template.').optional(),
  }),
  section: 'template/delete',
  readOnly: false,
} satisfies Operation

/** `count` has the form `<characters> / <parts>`; `datetime` is the creation time, ISO 8601 with an offset. */
const template = answerObject({
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
  ...lists,
  schema: operationObject('template/list', {}),
  payload: z.array(template, { error: must('a list of templates') }),
} satisfies Operation

/**
 * Creates a Viber template with the text `template` and submits it for moderation. The payload has id and moderation status.
 * Specification: template/viber/create.
 */
export const templateViberCreate = {
  ...facts,
  schema: operationObject('template/viber/create', {
    template: text.describe('Text of the template.'),
    signature: text.describe('Sender signature of the template.').optional(),
  }),
  section: 'template/viber/create',
  readOnly: false,
} satisfies Operation

const isInteger = (value: unknown): boolean => typeof value === 'bigint' || Number.isSafeInteger(value)

const error = must(`a whole number (a bigint beyond ${Number.MAX_SAFE_INTEGER})`)

/**
 * Deletes Viber templates by `id` (an integer; template/delete takes text), by exact text, or by both. The payload has the
 * number of deleted templates. Specification: template/viber/delete.
 */
export const templateViberDelete = {
  ...facts,
  schema: operationObject('template/viber/delete', {
    id: z
      .custom<number | bigint>(isInteger, { error })
      .meta({ expects: 'a whole number', description: 'Identifier of the template.' })
      .optional(),
    template: text.describe('Exact text of the template.').optional(),
  }),
  section: 'template/viber/delete',
  readOnly: false,
} satisfies Operation

/**
 * The account's Viber templates. No fields. The payload has id, text, signature and moderation status of each. Specification:
 * balance, sender, template/list, template/viber/list.
 */
export const templateViberList = {
  ...lists,
  schema: operationObject('template/viber/list', {}),
} satisfies Operation
