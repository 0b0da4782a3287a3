import { z } from 'zod'
import { operationObject } from '../fields.ts'
import type { Operation } from '../operation.ts'

/**
 * The account's alpha-names. No fields. The payload is unspecified. Specification: balance, sender, template/list,
 * template/viber/list.
 */
export const sender = {
  schema: operationObject('sender', {}),
  payload: z.unknown(),
  section: 'balance, sender, template/list, template/viber/list',
  hook: 'none',
  echoesId: false,
  readOnly: true,
} satisfies Operation
