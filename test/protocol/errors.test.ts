import { describe, expect, test } from 'vitest'
import { errorCodeOf } from '../../src/protocol/index.ts'

describe('the code of an error text', () => {
  test.each([
    ['Sender phone should contains only english letters, digits, dot, underscore, dash', 'SENDER_INVALID'],
    ['Please enter SMS text', 'VALIDATION'],
    ['Please enter valid receiver phone number', 'VALIDATION'],
    ['LENGTH', 'VALIDATION'],
    ['Not enough money', 'INSUFFICIENT_FUNDS'],
    ['BILLING', 'INSUFFICIENT_FUNDS'],
    ['THROTTLE', 'THROTTLED'],
    ['OVERLIMIT', 'THROTTLED'],
    ['Too many requests', 'THROTTLED'],
    ['DUPLICATE', 'DUPLICATE_ID'],
    ['id exists', 'DUPLICATE_ID'],
    ['IP_DENIED', 'ACCESS_DENIED'],
    ['API_DISABLE', 'ACCESS_DENIED'],
  ])('%s is %s', (text, code) => {
    expect(errorCodeOf(text)).toBe(code)
  })

  test('ignores case, surrounding space and a final full stop', () => {
    expect(errorCodeOf('  access DENIED. \n')).toBe('ACCESS_DENIED')
  })

  test('is REJECTED for a text that only contains a known one, and for any other text', () => {
    expect(errorCodeOf('Access denied for this sender')).toBe('REJECTED')
    expect(errorCodeOf('')).toBe('REJECTED')
    expect(errorCodeOf('constructor')).toBe('REJECTED')
  })

  test("is the caller's own if it gave one", () => {
    const own = { 'Daily limit reached.': 'THROTTLED', 'Access denied': 'REJECTED' } as const
    expect(errorCodeOf('daily limit reached', own)).toBe('THROTTLED')
    expect(errorCodeOf('Access denied', own)).toBe('REJECTED')
    expect(errorCodeOf('Not enough money', own)).toBe('INSUFFICIENT_FUNDS')
  })
})
