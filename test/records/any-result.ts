import fc from 'fast-check'
import type { SendResult } from '../../src/records/generated.ts'
import { schemas } from '../../src/records/schemas.ts'

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
/** Any result that the schema allows, with lone surrogates in its texts too. */
export const anyResult: fc.Arbitrary<SendResult> = fc.record({
  id: fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n })),
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
