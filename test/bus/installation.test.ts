import fc from 'fast-check'
import { expect, test } from 'vitest'
import { differenceFrom, isOwningProtocol, protocolOf } from '../../src/bus/membership/installation.ts'

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

test('processes of two versions are in one group if their installations are the same, which no other program is in', () => {
  const installation = { 'topics.results': 'results', 'gateway.url': 'https://gateway.example' }
  const protocol = protocolOf({ host: 'any', installation })
  expect(protocol).toBe('busgate:qEEFu1eOiY51EOB0oGNdxt')
  expect([protocol, 'range'].map(isOwningProtocol)).toEqual([true, false])
})

test('a setting that only one of two installations has is named as such', () => {
  const [bare, full] = [{}, { 'gateway.url': 'https://one' }].map(installation => ({ host: 'me', installation }))
  expect(differenceFrom(bare!, [full!])).toMatch(/gateway\.url is not set here and https:\/\/one there$/)
  expect(differenceFrom(full!, [bare!])).toMatch(/gateway\.url is https:\/\/one here and not set there$/)
})

test.each([
  ['a', 'a'],
  ['b a b', 'a, b'],
  ['a b c', 'a, b, c'],
  ['c a b d', 'a, b, c, 1 more host'],
  ['c a b a d e', 'a, b, c, 2 more hosts'],
])('a difference names each setting with both values, and the hosts (%s), of many only some', (hosts, named) => {
  const [here, there] = ['here', 'there'].map(url => ({ 'gateway.url': url, same: '1' }))
  const others = hosts.split(' ').map(host => ({ host, installation: there! }))
  expect(differenceFrom({ host: 'me', installation: here! }, others)).toBe(
    `processes of another installation, on ${named}, are in this group; on me, gateway.url is here here and there there`,
  )
})
