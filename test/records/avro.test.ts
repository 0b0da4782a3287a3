import avro, { type Schema } from 'avsc'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { avroTypeOf, wellFormed } from '../../src/records/avro.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildResult } from '../support/results.ts'
import { anyResult } from './any-result.ts'
import { long } from './codec.ts'

const result = avroTypeOf(schemas.result)
/** avsc without our long type: it has ids as numbers only, and writes those below -2^52 inexactly. */
const unchangedAvsc = avro.Type.forSchema(schemas.result as Schema)

const safeId = fc.maxSafeNat().filter(value => value < 2 ** 53 - 1)

describe('a record on the bus', () => {
  test('is written as other Avro libraries write it, and can be read', () => {
    fc.assert(
      fc.property(
        anyResult.map(value => wellFormed(value) as SendResult),
        safeId,
        (value, id) => {
          const bytes = result.toBuffer({ ...value, id: BigInt(id) })
          expect(bytes).toEqual(unchangedAvsc.toBuffer({ ...value, id }))
          expect(result.fromBuffer(bytes)).toEqual({ ...value, id: BigInt(id) })
        },
      ),
    )
  })

  test('can have any 64-bit id, written as the Avro specification says', () => {
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
