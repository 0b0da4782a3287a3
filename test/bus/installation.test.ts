import fc from 'fast-check'
import { expect, test } from 'vitest'
import { differenceFrom, protocolOf } from '../../src/bus/membership/installation.ts'

const installation = fc
  .array(
    fc.tuple(fc.constantFrom('gateway.url', 'topics.results', 'topics.doubts'), fc.constantFrom('a', 'b', 'not set')),
  )
  .map(pairs => Object.fromEntries(pairs))
const announcement = fc.record({ host: fc.constantFrom('here', 'there'), installation })

test('two processes have one protocol exactly if nothing of their installations differs, whatever their hosts', () => {
  fc.assert(
    fc.property(announcement, announcement, (mine, other) => {
      expect(differenceFrom(mine, [other]) === null).toBe(protocolOf(mine) === protocolOf(other))
    }),
  )
})

test('a difference names each setting with both values, and the hosts, of many only some', () => {
  const others = ['c', 'a', 'b', 'a', 'd', 'e'].map(host => ({
    host,
    installation: { 'gateway.url': 'there', same: '1' },
  }))
  expect(differenceFrom({ host: 'me', installation: { 'gateway.url': 'here', same: '1' } }, others)).toBe(
    'processes of another installation, on a, b, c, 2 more hosts, are in this group; on me, gateway.url is here here and there there',
  )
})
