import { describe, expect, test } from 'vitest'
import { errorCodeOf } from '../../src/protocol/index.ts'

describe('the error code', () => {
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
  ])('of "%s" is %s', (text, code) => {
    expect(errorCodeOf(text)).toBe(code)
  })

  test("does not depend on the text's case, surrounding space or final full stop", () => {
    expect(errorCodeOf('  access DENIED. \n')).toBe('ACCESS_DENIED')
  })

  test('is REJECTED for unknown texts, even one that contains a known text', () => {
    expect(errorCodeOf('Access denied for this sender')).toBe('REJECTED')
    expect(errorCodeOf('')).toBe('REJECTED')
    expect(errorCodeOf('constructor')).toBe('REJECTED')
  })

  test('comes first from the texts of the caller', () => {
    const own = { 'Daily limit reached.': 'THROTTLED', 'Access denied': 'REJECTED' } as const
    expect(errorCodeOf('daily limit reached', own)).toBe('THROTTLED')
    expect(errorCodeOf('Access denied', own)).toBe('REJECTED')
    expect(errorCodeOf('Not enough money', own)).toBe('INSUFFICIENT_FUNDS')
  })
})
