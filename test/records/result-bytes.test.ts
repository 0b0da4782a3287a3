import fc from 'fast-check'
import { expect, test } from 'vitest'
import { avroTypeOf, wellFormed } from '../../src/records/avro.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { writeResultBytes } from '../../src/records/result-bytes.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildResult } from '../support/results.ts'

const largestLong = 2n ** 63n - 1n
const resultType = avroTypeOf(schemas.result)
const outcomes = (
  schemas.result.fields.find(({ name }) => name === 'outcome')!.type as { symbols: SendResult['outcome'][] }
).symbols

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 80 }),
  fc.string({ unit: fc.constantFrom('a', 'й', '€', '👍', '\ud83d', '\udc4d'), maxLength: 60 }),
  fc.string({ minLength: 40, maxLength: 70 }),
)
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const int = fc.integer()
const long = fc.oneof(
  fc.maxSafeNat().map(value => Math.floor(value / 2)),
  fc.nat(),
)
const country = orNull(fc.record({ name: orNull(text), prefix: orNull(long) }))
const operator = orNull(fc.record({ name: orNull(text), prefix: orNull(long), country }))
const hlr = fc.record({
  phone: long,
  status: orNull(text),
  imsi: orNull(text),
  mccmnc: orNull(int),
  ported: orNull(fc.boolean()),
  network: orNull(fc.record({ origin: operator, ported: operator })),
})
const results: fc.Arbitrary<SendResult> = fc.record({
  id: fc.bigInt({ min: 1n, max: largestLong }),
  type: text,
  account: text,
  outcome: fc.constantFrom(...outcomes),
  final: fc.boolean(),
  msgId: orNull(text),
  parts: orNull(int),
  errorCode: orNull(text),
  error: orNull(text),
  code: orNull(text),
  price: orNull(fc.double({ noNaN: true })),
  hlr: orNull(hlr),
  payload: orNull(text),
  attempts: int,
  commandTopic: text,
  commandPartition: int,
  commandOffset: long,
  sentAt: orNull(long),
  completedAt: long,
  correlationId: orNull(text),
  tenant: orNull(text),
  campaign: orNull(text),
  hooked: orNull(fc.boolean()),
  commandAt: orNull(long),
  country: orNull(text),
})

test("the bytes of any result equal avsc's", () => {
  const buffer = Buffer.alloc(16 * 1024)
  fc.assert(
    fc.property(results, fc.nat(100), (result, start) => {
      const end = writeResultBytes(result, buffer, start)
      expect(buffer.subarray(start, end).equals(resultType.toBuffer(wellFormed(result)))).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('without enough room the missing bytes are returned, and nothing is written beyond it', () => {
  fc.assert(
    fc.property(results, fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), (result, part) => {
      const { length } = resultType.toBuffer(wellFormed(result))
      const whole = Buffer.alloc(length + 8, 0xee)
      const room = whole.subarray(0, Math.floor(length * part))
      expect(writeResultBytes(result, room, 0)).toBe(room.length - length)
      expect(whole.subarray(room.length).every(byte => byte === 0xee)).toBe(true)
    }),
  )
})

test('a result that does not fit into the current buffer is complete in the next', async () => {
  const encode = await createEncoder<SendResult>('any', schemas.result, embeddedRegistry(), writeResultBytes)
  for (const length of [10, 30_000, 40_000, 200_000, 10]) {
    const result = buildResult({ payload: 'й'.repeat(length) })
    expect(
      encode(result)
        .subarray(5)
        .equals(resultType.toBuffer(wellFormed(result))),
    ).toBe(true)
  }
})
