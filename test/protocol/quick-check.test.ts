import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { operations, type SendType, sendTypes } from '../../src/protocol/index.ts'
import { quickCheck } from '../../src/protocol/quick-check.ts'
import { anyOperation } from '../support/arbitraries.ts'

/** The rules of these types are each about one field. The other types, and these fields, are left to zod. */
const known: readonly SendType[] = ['sms', 'rcs', 'rcs+sms', 'viber+sms', 'telegram', 'call/otp', 'hlr']
const unknown = ['viber_carousel', 'viber_lifetime']

const odd = fc.oneof(
  fc.constantFrom(
    undefined,
    null,
    '',
    'sms',
    true,
    -1,
    0,
    0.5,
    59,
    60,
    3599,
    3600,
    259_200,
    259_201,
    1e15,
    2 ** 53,
    Number.NaN,
  ),
  fc.constantFrom(0n, 2n ** 63n - 1n, 2n ** 63n, 'http://shop.example', 'https://', '1234', '123456789', [], {}, [
    'sms',
  ]),
  fc.string(),
  fc.double(),
)

/** Operations of one type, of which some fields are anything. */
const spoilt = (type: SendType) =>
  anyOperation
    .filter(operation => operation.type === type)
    .chain(operation =>
      fc
        .dictionary(fc.constantFrom(...Object.keys(operations[type].schema.shape)), odd, { maxKeys: 2 })
        .map((changes): Record<string, unknown> => ({ ...operation, ...changes })),
    )

describe.each(sendTypes)('a command of type %s', type => {
  const { schema } = operations[type]
  const isSurelyValid = quickCheck(schema)

  test('is surely valid only where the schema accepts it', () => {
    fc.assert(
      fc.property(spoilt(type), operation => {
        const { success } = schema.safeParse(operation)
        if (isSurelyValid(operation)) expect(success).toBe(true)
        else if (known.includes(type) && unknown.every(name => operation[name] === undefined))
          expect(success).toBe(false)
      }),
      { numRuns: 300 },
    )
  })
})

test.each([
  ['another format of text', z.email(), 'a@shop.example'],
  ['a length', z.string().min(1), 'text'],
  ['a transformation', z.looseObject({ text: z.string().transform(text => text.length) }), { text: 'text' }],
  ['a default', z.string().default('text'), 'text'],
  ['a conversion', z.coerce.number(), 7],
  ['a rule across fields', z.looseObject({ a: z.string() }).check(() => {}), { a: 'text' }],
  ['an object that drops what it does not know', z.object({ a: z.string() }), { a: 'text' }],
  ['a pattern with a place to go on from', z.string().regex(/text/g), 'text'],
])('%s is left to zod', (_what, schema: z.ZodType, value) => {
  expect(schema.safeParse(value).success).toBe(true)
  expect(quickCheck(schema)(value)).toBe(false)
})
