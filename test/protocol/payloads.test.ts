import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type OperationType, operations, sendTypes } from '../../src/protocol/index.ts'

const read = (type: OperationType, payload: unknown) => operations[type].payload.safeParse(payload)

describe.each(sendTypes.filter(type => type !== 'hlr' && type !== 'call/otp'))('the payload of %s', type => {
  test.each(['77', 77, 9223372036854775807n])('may contain the msg_id %o', msg_id => {
    const payload = { id: '1001', msg_id, parts: 2, data: 1, price: 0.5 }
    expect(read(type, payload).data).toEqual(payload)
  })

  test('may lack everything, even its object', () => {
    expect(read(type, { id: 1001 }).data).toEqual({ id: 1001 })
    expect(read(type, undefined).data).toEqual({})
    expect(read(type, 'accepted').data).toEqual({ value: 'accepted' })
  })

  test('keeps fields of a wrong type in raw, as they came', () => {
    expect(read(type, { id: null, msg_id: 77, parts: '2', data: {} }).data).toEqual({ msg_id: 77, parts: 2, data: {} })
    expect(read(type, { msg_id: { a: 1 }, parts: 'two' }).data).toEqual({ raw: { msg_id: { a: 1 }, parts: 'two' } })
  })
})

describe('the payload of hlr', () => {
  const network = { name: 'Operator', prefix: 50, country: { name: 'Ukraine', prefix: 380 } }
  const payload = {
    phone: 380501234567,
    status: 'DELIVERED',
    imsi: 255010000000000,
    mccmnc: 25501,
    ported: true,
    network: { origin: network, ported: network },
  }

  test('has the fields of the specification', () => {
    expect(read('hlr', payload).data).toEqual(payload)
  })

  test('is read even if a field is missing or has the wrong type', () => {
    const odd = { ...payload, phone: '380501234567', imsi: '001010000000000', ported: 'no', network: { origin: null } }
    expect(read('hlr', odd).data).toEqual({
      phone: 380501234567,
      status: 'DELIVERED',
      imsi: '001010000000000',
      mccmnc: 25501,
      network: {},
      raw: { ported: 'no' },
    })
  })

  test('keeps the leading zero of a code, and what it cannot read, wherever that stands', () => {
    const odd = { mccmnc: '025501', ported: 1, network: { origin: { ...network, prefix: ['50'] }, ported: 'Operator' } }
    expect(read('hlr', odd).data).toEqual({
      network: {
        origin: { name: 'Operator', country: network.country, raw: { prefix: ['50'] } },
        raw: { ported: 'Operator' },
      },
      raw: { mccmnc: '025501', ported: 1 },
    })
  })
})

test.each([
  ['false', false],
  ['true', true],
])('the field ported of an hlr payload may be the text %s', (ported, flag) => {
  expect(read('hlr', { ported }).data).toEqual({ ported: flag })
})

describe('the payload of call/otp', () => {
  test('keeps the leading zeros of the code', () => {
    expect(read('call/otp', { code: '0042', price: '0.25' }).data).toEqual({ code: '0042', price: 0.25 })
  })

  test.each([
    [42, '0042'],
    [0, '0000'],
    [9999, '9999'],
  ])('turns the code %d, a number, into %s with its leading zeros', (code, text) => {
    expect(read('call/otp', { code, price: 0.25 }).data).toEqual({ code: text, price: 0.25 })
  })

  test.each([10_000, -1, 4.2, true, ['0042']])('keeps the code %j in raw', code => {
    expect(read('call/otp', { code, price: '0,50' }).data).toEqual({ raw: { code, price: '0,50' } })
  })
})

test('the payload of template/list is a list of templates', () => {
  const template = { id: 17, name: 'parcel', template: 'Hi', count: '2 / 1', datetime: '2025-01-31T12:00:00+02:00' }
  expect(read('template/list', [template]).data).toEqual([template])
  expect(read('template/list', { id: 17 }).success).toBe(false)
})

test('the payload of balance may be as documented by the vendor', () => {
  expect(read('balance', { amount: '31.1683', currency: 'UAH', credit: 1 }).data).toEqual({
    amount: 31.1683,
    currency: 'UAH',
    credit: 1,
  })
})

test.each([['31.17'], [31.17], [[]], [true]])(
  'a payload of balance that is no object is kept as its value: %j',
  value => {
    expect(read('balance', value).data).toEqual({ value })
  },
)

test.each([['31.16 UAH'], ['1 234,50'], [{ main: 1, bonus: 2 }]])('an amount of %j is kept in raw', amount => {
  expect(read('balance', { amount, currency: 'UAH' }).data).toEqual({ currency: 'UAH', raw: { amount } })
})

test('an answer of any shape loses nothing but __proto__', () => {
  const shapes = fc.dictionary(
    fc.oneof(
      fc.string().filter(name => name !== '__proto__'),
      fc.constantFrom('amount', 'currency', 'raw', 'status', 'replies', 'id', 'msg_id', 'parts'),
    ),
    fc.jsonValue({ maxDepth: 2 }).filter(value => value !== null),
  )
  for (const type of ['balance', 'status', 'sms', 'call/otp', 'hlr'] as const) {
    fc.assert(
      fc.property(shapes, came => {
        const given = JSON.parse(JSON.stringify(came))
        const { raw = {}, ...data } = read(type, given).data as Record<string, unknown>
        const kept = 'raw' in given ? ['raw', ...Object.keys(data)] : Object.keys(data)
        return Object.keys(given).every(name => kept.includes(name) || Object.hasOwn(raw as object, name))
      }),
    )
  }
})

test('a missing payload of balance is empty', () => {
  expect(read('balance', null).data).toEqual({})
})

test('the payload of status may be as documented by the vendor', () => {
  const payload = { id: 1001, type: 'viber', status: 'READ', replies: [{ datetime: '2025-01-31', message: 'Hi' }] }
  expect(read('status', payload).data).toEqual(payload)
})
