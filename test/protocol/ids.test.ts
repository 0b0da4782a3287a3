import { describe, expect, test } from 'vitest'
import { messageId, sameId } from '../../src/protocol/index.ts'

describe('a message id', () => {
  test.each([1, 1n, Number.MAX_SAFE_INTEGER, 2n ** 53n, 2n ** 63n - 1n])('may be %s', id => {
    expect(messageId.parse(id)).toBe(id)
  })

  test.each([0, -1, 0n, -1n, 1.5, 2 ** 53, 2n ** 63n, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, {}])(
    'may not be %s',
    id => {
      expect(messageId.safeParse(id).success).toBe(false)
    },
  )
})

describe('an echoed id', () => {
  test('may be a number, a text or a bigint', () => {
    for (const echoed of ['42', 42, 42n]) for (const id of [42, 42n]) expect(sameId(echoed, id)).toBe(true)
    expect(sameId('9223372036854775807', 2n ** 63n - 1n)).toBe(true)
  })

  test('is compared to its last digit beyond 2^53', () => {
    expect(sameId(9007199254740993n, 9007199254740992n)).toBe(false)
    expect(sameId('9007199254740993', 9007199254740992n)).toBe(false)
    expect(sameId(2 ** 53, 2n ** 53n)).toBe(false)
  })

  test('may be padded', () => {
    for (const echoed of [' 42', '042', '042 ']) expect(sameId(echoed, 42)).toBe(true)
    expect(sameId('0', 0)).toBe(true)
  })

  test.each([undefined, null, '', '42.0', '4 2', '-42', 43, true, [42], { id: 42 }])(
    'such as %o does not match 42',
    echoed => {
      expect(sameId(echoed, 42)).toBe(false)
    },
  )
})
