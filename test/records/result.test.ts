import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { readPayload } from '../../src/records/result.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildResult } from '../support/results.ts'

const encode = await createEncoder<SendResult>('any', schemas.result, embeddedRegistry())

const number = fc.oneof(
  fc.constantFrom(2 ** 53 - 1, -(2 ** 53) + 1, 2 ** 53, 2 ** 31, -(2 ** 31) - 1, 1e300, -0, 0.5),
  fc.bigInt(),
)
const odd = fc.oneof(number, number.map(String), fc.jsonValue())
const operator = fc.oneof(odd, fc.record({ name: odd, prefix: odd, country: fc.record({ name: odd, prefix: odd }) }))
const data = fc.record(
  {
    ...{ id: odd, msg_id: odd, parts: odd, code: odd, price: odd },
    ...{ phone: odd, status: odd, imsi: odd, mccmnc: odd, ported: odd, constructor: odd },
    network: fc.oneof(odd, fc.record({ origin: operator, ported: operator })),
  },
  { requiredKeys: [] },
)

test.each(['sms', 'call/otp', 'hlr'] as const)('a result of %s can be written whatever the gateway answers', type => {
  fc.assert(
    fc.property(fc.oneof(data, odd), answered => {
      encode(buildResult({ type, ...readPayload(type, answered) }))
    }),
    { numRuns: 1000 },
  )
})

test('of an answer that is nested too deeply to be written, all else is told', () => {
  const depth = 100_000
  const data = JSON.parse(`{"msg_id":7,"nested":${'['.repeat(depth)}${']'.repeat(depth)}}`)
  expect(readPayload('sms', data)).toMatchObject({ msgId: '7', payload: null })
})
