import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SendType } from '../../src/protocol/index.ts'
import { createEncoder } from '../../src/records/encoder.ts'
import type { SendResult } from '../../src/records/generated.ts'
import { embeddedRegistry } from '../../src/records/registry.ts'
import { readPayload as readEchoFree } from '../../src/records/result.ts'
import { schemas } from '../../src/records/schemas.ts'
import { buildResult } from '../support/results.ts'

const readPayload = (type: SendType, data: unknown) => readEchoFree(type, data, { id: id => id, value: value => value })

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

test.each(['sms', 'call/otp', 'hlr'] as const)('a result of %s can be written for any answer of the gateway', type => {
  fc.assert(
    fc.property(fc.oneof(data, odd), answered => {
      encode(buildResult({ type, ...readPayload(type, answered) }))
    }),
    { numRuns: 1000 },
  )
})

test('the usual answer is read like one with a further field, which is kept beside', () => {
  const usual = fc.record(
    {
      id: fc.oneof(fc.maxSafeInteger(), fc.string()),
      msg_id: fc.oneof(fc.maxSafeInteger(), fc.string()),
      parts: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
      data: fc.oneof(fc.integer({ min: -2000, max: 2000 }), fc.double({ noNaN: true, noDefaultInfinity: true })),
    },
    { requiredKeys: ['id', 'msg_id', 'parts'] },
  )
  fc.assert(
    fc.property(usual, answered => {
      const { payload, ...read } = readPayload('sms', answered)
      const { payload: further, ...same } = readPayload('sms', { ...answered, further: 1 })
      expect(read).toEqual(same)
      expect({ ...JSON.parse(payload ?? '{}'), further: 1 }).toEqual(JSON.parse(further!))
    }),
    { numRuns: 2000 },
  )
})

test('of an answer with a field that is nested too deeply, all other fields are kept', () => {
  const depth = 100_000
  const data = JSON.parse(`{"msg_id":7,"nested":${'['.repeat(depth)}${']'.repeat(depth)}}`)
  expect(readPayload('sms', data)).toMatchObject({ msgId: '7', payload: null })
})

test('half an emoji in an answer becomes U+FFFD in the payload, and an escaped backslash before a u stays', () => {
  const { payload } = readPayload('sms', { note: 'a\ud83d', '\ude00': ['\\ud83d', '😀'] })
  expect(payload).toBe(
    String.raw`{"note":"a\ufffd","\ufffd":["\\ud83d","😀"]}`.replaceAll(String.raw`\ufffd`, '\ufffd'),
  )
})

describe("nothing in the gateway's answer is lost:", () => {
  test.each<[SendType, object, object, object | null]>([
    ['sms', { id: 1, msg_id: 7, parts: 2 }, { msgId: '7', parts: 2 }, null],
    ['sms', { id: 1, msg_id: 'a-7', parts: '2' }, { msgId: 'a-7', parts: 2 }, null],
    ['sms', { msg_id: 7, parts: 1.5, data: 0 }, { msgId: '7', parts: null }, { parts: 1.5, data: 0 }],
    ['viber', { msg_id: { id: 7 }, parts: 1 }, { msgId: null, parts: 1 }, { msg_id: { id: 7 } }],
    ['viber', { msg_id: true, parts: ' ' }, { msgId: null, parts: null }, { msg_id: true, parts: ' ' }],
    ['sms', { id: [1], msg_id: null, parts: null }, { msgId: null, parts: null }, { id: [1] }],
    ['call/otp', { id: 1, code: '0042', price: '0.05' }, { code: '0042', price: 0.05 }, null],
    ['call/otp', { code: '0042', price: '0,05', fee: 1 }, { code: '0042', price: null }, { price: '0,05', fee: 1 }],
    ['call/otp', { code: 42, price: 1 }, { code: '0042', price: 1 }, null],
    ['call/otp', { code: 10_000, price: 1 }, { code: null, price: 1 }, { code: 10_000 }],
    ['call/otp', { code: ['0042'], price: [1] }, { code: null, price: null }, { code: ['0042'], price: [1] }],
  ])('of %s %j, values that cannot be converted are in the payload', (type, data, read, payload) => {
    const result = readPayload(type, data)
    expect(result).toMatchObject(read)
    expect(JSON.parse(result.payload ?? 'null')).toEqual(payload)
  })

  const known = {
    ...{ phone: 380501234567, status: 'DELIVERED', imsi: '255011234567890', mccmnc: 25501, ported: false },
    network: {
      origin: { name: 'One', prefix: 50, country: { name: 'Ukraine', prefix: 380 } },
      ported: { name: 'Two', prefix: 63, country: { name: 'Ukraine', prefix: 380 } },
    },
  }

  test('a specified answer to hlr is completely in its record', () => {
    expect(readPayload('hlr', { id: 1, ...known })).toMatchObject({ hlr: known, payload: null })
  })

  test('other fields of an answer to hlr are in the payload, at their paths', () => {
    const odd = {
      ...{ mccmnc: '255-01', ported: 'no', roaming: { active: true } },
      network: {
        origin: { ...known.network.origin, prefix: '50x', mnp: 'A1', country: { name: 'Ukraine', iso: 'UA' } },
        ported: 'Two',
        serving: { name: 'Three' },
      },
    }
    const { hlr, payload } = readPayload('hlr', { ...known, ...odd })
    expect(hlr).toEqual({
      ...{ phone: 380501234567, status: 'DELIVERED', imsi: '255011234567890', mccmnc: null, ported: null },
      network: { origin: { name: 'One', prefix: null, country: { name: 'Ukraine', prefix: null } }, ported: null },
    })
    expect(JSON.parse(payload!)).toEqual({
      ...odd,
      network: {
        origin: { prefix: '50x', mnp: 'A1', country: { iso: 'UA' } },
        ported: 'Two',
        serving: { name: 'Three' },
      },
    })
  })

  test('a field of any name is kept', () => {
    const payload = '{"__proto__":{"parts":5},"constructor":1}'
    expect(readPayload('sms', JSON.parse(payload))).toMatchObject({ parts: null, payload })
  })

  test.each([2 ** 53 - 2, -(2 ** 53) + 2, 2 ** 53 - 1, -(2 ** 53) + 1])('a phone %d is in its field or kept', phone => {
    const { hlr, payload } = readPayload('hlr', { phone })
    const isExact = Math.abs(phone) < 2 ** 53 - 1
    expect([hlr?.phone ?? null, payload]).toEqual(isExact ? [phone, null] : [null, JSON.stringify({ phone })])
  })

  test.each([2 ** 31 - 1, -(2 ** 31), 2 ** 31, -(2 ** 31) - 1])(
    'a number of %d parts is in its field or kept',
    parts => {
      const fits = parts === (parts | 0)
      const expected = fits ? { parts, payload: null } : { parts: null, payload: JSON.stringify({ parts }) }
      expect(readPayload('sms', { parts })).toMatchObject(expected)
    },
  )

  test.each([
    ['25501', 25501, null],
    ['00101', null, '{"mccmnc":"00101"}'],
    [' ', null, '{"mccmnc":" "}'],
  ])('the network code %j keeps its leading zeros', (mccmnc, read, payload) => {
    const result = readPayload('hlr', { phone: 380501234567, mccmnc })
    expect([result.hlr?.mccmnc, result.payload]).toEqual([read, payload])
  })
})
