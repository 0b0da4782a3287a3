import { describe, expect, test } from 'vitest'
import { forwardedFor, senderAt, trustIn } from '../../src/callbacks/addresses.ts'

const trusts = trustIn(['10.0.0.0/8', '192.0.2.7', 'fd00::/8'])

describe('a trusted proxy', () => {
  test.each(['10.1.2.3', '192.0.2.7', '::ffff:10.1.2.3', 'fd12::1'])('is at %s', address => {
    expect(trusts(address)).toBe(true)
  })

  test.each(['11.1.2.3', '192.0.2.8', '::ffff:11.1.2.3', 'fe80::1', ''])('is not at "%s"', address => {
    expect(trusts(address)).toBe(false)
  })
})

describe('the client in X-Forwarded-For', () => {
  test.each([
    ['203.0.113.5', '203.0.113.5'],
    ['203.0.113.5, 10.0.0.1', '203.0.113.5'],
    ['6.6.6.6, 203.0.113.5, 10.0.0.1,192.0.2.7', '203.0.113.5'],
    ['203.0.113.5:443', '203.0.113.5'],
    ['[2001:db8::1]:443, fd00::1', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['203.0.113.5, unknown', null],
    ['203.0.113.5,', null],
    ['10.0.0.1', null],
    ['', null],
  ])('of "%s" is %s', (header, client) => {
    expect(forwardedFor(header, trusts)).toBe(client)
  })

  test('is nobody without the header', () => {
    expect(forwardedFor(undefined, trusts)).toBeNull()
  })
})

describe('counted together are', () => {
  test.each([
    ['203.0.113.5', '::ffff:203.0.113.5'],
    ['2001:db8:1:2::1', '2001:0DB8:1:2:ffff:ffff:ffff:ffff'],
    ['::1', '0:0:0:0:0:0:0:2'],
  ])('%s and %s', (one, other) => {
    expect(senderAt(one)).toBe(senderAt(other))
  })
})

describe('counted apart are', () => {
  test.each([
    ['203.0.113.5', '203.0.113.6'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['2001:db8::1', '::1'],
  ])('%s and %s', (one, other) => {
    expect(senderAt(one)).not.toBe(senderAt(other))
  })
})
