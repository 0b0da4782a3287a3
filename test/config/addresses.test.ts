import fc from 'fast-check'
import { expect, test } from 'vitest'
import { baseAddress, hostAndPort, httpAddress } from '../../src/config/addresses.ts'

const isAscii = (text: string) => /^[\x20-\x7e]*$/.test(text)
/** An invalid Punycode name is refused by URL alone. */
const isPlain = (text: string) => isAscii(text) && !/xn--/i.test(text)
const whole = (pattern: string) => new RegExp(`^${pattern}$`)

test.each([
  ['an address', httpAddress],
  ['a base address', baseAddress],
  ['a broker', hostAndPort],
])('%s that the grammar allows is a URL', (_, pattern) => {
  fc.assert(
    fc.property(fc.stringMatching(whole(pattern)).filter(isPlain), address => {
      expect(URL.canParse(address.includes('://') ? address : `http://${address}`)).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('the grammar allows the addresses of RFC 3986', () => {
  const options = { withQueryParameters: true, withFragments: true, validSchemes: ['http', 'https'] }
  const authority = { withIPv4: true, withIPv6: true, withPort: true, withUserInfo: false }
  fc.assert(
    fc.property(fc.webUrl({ ...options, authoritySettings: authority }), address => {
      const { hostname } = new URL(address)
      fc.pre(address.includes(hostname) && !/^\[.*\.|:$/.test(hostname)) // an IPv6 address with an IPv4 one in it
      expect(whole(httpAddress).test(address)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
