import { expect, test } from 'vitest'
import { isOperationType, operations, operationTypes, sendTypes } from '../../src/protocol/index.ts'

const specified = [
  'balance',
  'call/otp',
  'hlr',
  'pipeline',
  'rcs',
  'rcs+sms',
  'rcs+viber+sms',
  'sender',
  'sms',
  'status',
  'telegram',
  'template/create',
  'template/delete',
  'template/list',
  'template/viber/create',
  'template/viber/delete',
  'template/viber/list',
  'viber',
  'viber+sms',
  'voice',
]

test('the registry covers exactly the twenty types of the specification', () => {
  expect(specified).toHaveLength(20)
  expect(Object.keys(operations).sort()).toEqual(specified)
  expect([...operationTypes].sort()).toEqual(specified)
})

test.each(['whatsapp', 'SMS', '', 'toString', '__proto__', undefined, 1])('%o is no type of operation', type => {
  expect(isOperationType(type)).toBe(false)
})

test('eleven types are sent to a phone', () => {
  expect(new Set(sendTypes).size).toBe(11)
  for (const type of sendTypes) expect(operations[type].schema.shape).toHaveProperty('phone')
})

test('hook is a field of the eight operations that the specification names, and of voice, where it is not shown', () => {
  const withHook = operationTypes.filter(type => 'hook' in operations[type].schema.shape && type !== 'voice')
  expect(withHook).toEqual(['pipeline', 'rcs', 'rcs+sms', 'rcs+viber+sms', 'sms', 'telegram', 'viber', 'viber+sms'])
  const { voice, pipeline, ...rest } = operations
  expect(voice).toMatchObject({ hook: 'not shown', schema: { shape: { hook: expect.anything() } } })
  expect(pipeline.hook).toBe('not kept')
  for (const { schema, hook } of Object.values(rest)) expect(hook).toBe('hook' in schema.shape ? 'accepted' : 'none')
})
