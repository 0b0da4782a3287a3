import { expect, test } from 'vitest'
import type { z } from 'zod'
import {
  isOperationType,
  meaningOf,
  type OperationFields,
  operations,
  operationTypes,
} from '../../src/protocol/index.ts'

test.each(['whatsapp', 'SMS', '', 'toString', '__proto__', undefined, 1])('%o is not a type of operation', type => {
  expect(isOperationType(type)).toBe(false)
})

test('hook is a field of the eight operations in the specification, and an undocumented one of voice', () => {
  const withHook = operationTypes.filter(type => 'hook' in operations[type].schema.shape && type !== 'voice')
  expect(withHook).toEqual(['pipeline', 'rcs', 'rcs+sms', 'rcs+viber+sms', 'sms', 'telegram', 'viber', 'viber+sms'])
  const { voice, pipeline, ...rest } = operations
  expect(voice).toMatchObject({ hook: 'not shown', schema: { shape: { hook: expect.anything() } } })
  expect(pipeline.hook).toBe('not kept')
  for (const { schema, hook } of Object.values(rest)) expect(hook).toBe('hook' in schema.shape ? 'accepted' : 'none')
})

test.each(operationTypes)('every field of %s, even a nested one, has a description', type => {
  const { type: _, ...fields } = operations[type].schema.shape as Record<string, z.ZodType>
  const meanings = meaningsIn(fields)
  expect(meanings.filter(([, meaning]) => !/^[A-Z].*\.$/s.test(meaning))).toEqual([])
})

function meaningsIn(fields: Record<string, z.ZodType>): [name: string, meaning: string][] {
  return Object.entries(fields).flatMap(([name, field]) => [
    [name, meaningOf(field)] as [string, string],
    ...shapesOf(field).flatMap(meaningsIn),
  ])
}

/** The fields of a nested object, for each alternative of its schema. */
function shapesOf(field: z.ZodType): Record<string, z.ZodType>[] {
  const { def } = field as z.ZodOptional<z.ZodType> | z.ZodUnion<z.ZodType[]> | z.ZodObject
  if (def.type === 'optional') return shapesOf(def.innerType)
  if (def.type === 'union') return def.options.flatMap(shapesOf)
  return def.type === 'object' ? [def.shape as Record<string, z.ZodType>] : []
}

test('the types of an operation accept additional properties, but no missing or wrong fields', () => {
  const fields: OperationFields['sms'] = {
    id: 1n,
    phone: 380671234567,
    sms_message: 'Hi',
    sms_signature: 'Shop',
    more: [],
  }
  // @ts-expect-error sms_message is missing
  const without: OperationFields['sms'] = { id: 1, phone: 1, sms_signature: 'Shop' }
  // @ts-expect-error sms_message must be a string
  const wrong: OperationFields['sms'] = { ...fields, sms_message: 7 }
  const { success } = operations.sms.schema.safeParse({ type: 'sms', ...fields })
  expect([success, without.sms_message, wrong.sms_message]).toEqual([true, undefined, 7])
})
