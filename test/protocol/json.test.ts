import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { operations, operationTypes, parseJson, sameId, stringifyJson } from '../../src/protocol/index.ts'
import { buildOperation } from '../support/operations.ts'

const small = fc.oneof(
  fc.integer(),
  fc.double({ min: -1e6, max: 1e6, noNaN: true }).filter(x => !Object.is(x, -0)),
)
const { json } = fc.letrec(tie => ({
  json: fc.oneof({ maxDepth: 3 }, fc.constant(null), fc.boolean(), small, fc.string(), tie('list'), tie('object')),
  list: fc.array(tie('json'), { maxLength: 3 }),
  object: fc.dictionary(fc.string(), tie('json'), { maxKeys: 3, noNullPrototype: true }),
}))

const smallId = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const largeId = fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n })
const text = fc.string({ unit: 'binary' })

const operation = fc
  .record({
    type: fc.constantFrom(...operationTypes),
    id: fc.oneof(smallId, largeId),
    phone: fc.integer({ min: 1_000_000, max: 999_999_999_999_999 }),
    texts: fc.record({ sms_message: text, viber_message: text, rcs_message: text }),
    extra: fc.dictionary(
      text.map(name => `x-${name}`),
      json,
      { maxKeys: 3, noNullPrototype: true },
    ),
  })
  .map(({ type, id, phone, texts, extra }) =>
    buildOperation(type, type.startsWith('template/') ? extra : { id, phone, ...texts, ...extra }),
  )

describe('JSON', () => {
  test('keeps every valid operation unchanged when written and read', () => {
    fc.assert(
      fc.property(operation, sent => {
        const read = parseJson(stringifyJson(sent))
        expect(read).toStrictEqual(sent)
        expect(operations[sent.type].schema.safeParse(read).success).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('keeps all digits of every id from 1 to 2^63-1', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), id => {
        const text = stringifyJson({ success: true, data: [{ success: true, data: { id } }] })
        expect(text).toContain(`{"id":${id}}`)
        const read = parseJson(text) as { data: [{ data: { id: number | bigint } }] }
        expect(sameId(read.data[0].data.id, id)).toBe(true)
      }),
    )
  })

  test.each(['9223372036854775807', '-9007199254740992', '9007199254740992', '18446744073709551615'])(
    'reads the integer %s as a bigint at any place',
    digits => {
      const id = BigInt(digits)
      expect(parseJson(digits)).toBe(id)
      expect(parseJson(`{"id":${digits}}`)).toEqual({ id })
      expect(parseJson(`{"id" :\n\t${digits} }`)).toEqual({ id })
      expect(parseJson(`[${digits},${digits}, ${digits}]`)).toEqual([id, id, id])
    },
  )

  test('reads an integer of more than 20 characters as text, at once whatever its length', () => {
    const sign = fc.constantFrom('', '-')
    const digits = fc.integer({ min: 21, max: 2_000_000 }).map(length => '9'.repeat(length))
    fc.assert(
      fc.property(sign, digits, (sign, digits) => {
        expect(parseJson(`{"id":${sign}${digits}}`)).toEqual({ id: `${sign}${digits}` })
      }),
      { numRuns: 20, examples: [['', '9'.repeat(4_000_000)]] },
    )
  })

  test.each([
    '9007199254740991',
    '-9007199254740991',
    '1e400',
    '12345678901234567890.5',
    '1234567890123456789e3',
    '0.12345678901234567890',
    '"12345678901234567890"',
    '"note: ,12345678901234567890"',
    'null',
    '{"a":[1,"2",true,null,{}]}',
  ])('reads %s as JSON.parse does', text => {
    expect(parseJson(text)).toStrictEqual(JSON.parse(text))
  })

  test.each(['', '{', '{"id":12345678901234567890,}', 'undefined', '[01234567890123456]'])(
    'refuses %o with a SyntaxError',
    text => {
      expect(() => parseJson(text)).toThrow(SyntaxError)
    },
  )

  test.each(['{"__proto__":{"admin":true}}', '{"id":12345678901234567890,"__proto__":{"admin":true}}'])(
    'reads a __proto__ key as data: %s',
    text => {
      const value = parseJson(text) as Record<string, unknown>
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(Object.hasOwn(value, '__proto__')).toBe(true)
      expect(value.admin).toBeUndefined()
    },
  )
})
