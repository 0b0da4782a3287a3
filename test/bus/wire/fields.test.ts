import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Decoder, Encoder } from '../../../src/bus/wire/fields.ts'

/** Fields of every kind, long enough together to outgrow whatever there is room for at first. */
const field = fc.oneof(
  fc.record({ kind: fc.constant('int8' as const), value: fc.integer({ min: -128, max: 127 }) }),
  fc.record({ kind: fc.constant('int16' as const), value: fc.integer({ min: -32_768, max: 32_767 }) }),
  fc.record({ kind: fc.constant('int32' as const), value: fc.integer() }),
  fc.record({ kind: fc.constant('int64' as const), value: fc.maxSafeInteger() }),
  fc.record({ kind: fc.constant('boolean' as const), value: fc.boolean() }),
  fc.record({ kind: fc.constant('uvarint' as const), value: fc.maxSafeNat() }),
  fc.record({
    kind: fc.constant('string' as const),
    value: fc.option(fc.string({ unit: 'grapheme', maxLength: 300 })),
  }),
  fc.record({
    kind: fc.constant('buffer' as const),
    value: fc.option(fc.uint8Array({ maxLength: 1000 }).map(array => Buffer.from(array))),
  }),
)

describe('fields of requests', () => {
  it('are read as they were written, flexible or not', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(field, { maxLength: 200 }), (isFlexible, fields) => {
        const encoder = new Encoder(isFlexible)
        for (const { kind, value } of fields) (encoder[kind] as (value: unknown) => void).call(encoder, value)
        const decoder = new Decoder(encoder.bytes, isFlexible)
        const read = fields.map(({ kind }) => (kind === 'string' ? decoder.nullableString() : decoder[kind]()))
        expect(read).toEqual(fields.map(({ value }) => value))
      }),
    )
  })
})
