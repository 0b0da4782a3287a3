import avro, { type Schema } from 'avsc'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { avroTypeOf } from '../../src/records/avro.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildResult } from '../support/results.ts'
import { long } from './codec.ts'

const result = avroTypeOf(schemas.result)
/** avsc as it is, which knows ids as numbers alone, and writes those below -2^52 inexactly. */
const plain = avro.Type.forSchema(schemas.result as Schema)

const text = fc.option(fc.string({ unit: 'binary', maxLength: 40 }))
const int = fc.option(fc.integer())
const instant = fc.maxSafeNat().filter(value => value < 2 ** 53 - 1)
const anyResult: fc.Arbitrary<SendResult> = fc
  .record({
    outcome: fc.constantFrom('SENT', 'REJECTED', 'UNKNOWN'),
    final: fc.boolean(),
    msgId: text,
    parts: int,
    errorCode: text,
    error: text,
    code: text,
    price: fc.option(fc.double({ noNaN: true })),
    payload: text,
    attempts: fc.integer(),
    commandOffset: instant,
    sentAt: fc.option(instant),
    correlationId: text,
    tenant: text,
  })
  .map(fields => buildResult(fields as Partial<SendResult>))

describe('a record on the bus', () => {
  test('is written as other Avro libraries write it, and read back', () => {
    fc.assert(
      fc.property(anyResult, instant, (value, id) => {
        const bytes = result.toBuffer({ ...value, id: BigInt(id) })
        expect(bytes).toEqual(plain.toBuffer({ ...value, id }))
        expect(result.fromBuffer(bytes)).toEqual({ ...value, id: BigInt(id) })
      }),
    )
  })

  test('has any 64-bit id, written as the specification says', () => {
    const nearPowers = fc
      .tuple(fc.integer({ min: 0, max: 63 }), fc.integer({ min: -2, max: 2 }), fc.boolean())
      .map(([power, more, negative]) => (negative ? -1n : 1n) * (2n ** BigInt(power) + BigInt(more)))
      .filter(id => id >= -(2n ** 63n) && id < 2n ** 63n)
    fc.assert(
      fc.property(fc.oneof(nearPowers, fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n)), id => {
        const bytes = result.toBuffer(buildResult({ id }))
        const written = long(id)
        expect([...bytes.subarray(0, written.length)]).toEqual(written)
        expect(result.fromBuffer(bytes).id).toBe(id)
      }),
      { numRuns: 1000 },
    )
  })
})
