import fc from 'fast-check'
import { expect, test } from 'vitest'
import { accountHookUrl, callbackOriginOf, hookUrl } from '../../src/callbacks/hook-url.ts'
import { sendTypes } from '../../src/protocol/index.ts'
import { hookSubject, tokenBench } from '../support/callbacks.ts'

const publicUrl = 'https://hooks.example.com'

function urlBench(options: { publicUrl?: string; urlMaxLength?: number; accounts?: string[] } = {}) {
  const { tokens } = tokenBench()
  const counter = { dropped: 0 }
  const onCorrelationDropped = () => {
    counter.dropped++
  }
  const url = hookUrl({ publicUrl, urlMaxLength: 255, tokens, accounts: ['default'], onCorrelationDropped, ...options })
  const opened = (address: string | null) => tokens.open(address?.split('/').at(-1) ?? '')
  return { tokens, counter, url, opened }
}

test('the hook address contains the whole subject if it fits', () => {
  const { url, opened, counter } = urlBench()
  const subject = hookSubject({ correlationId: '0e8f3c34-5b0f-4f1f-9f5e-2b6d5a7f8c1d' })
  const address = url(subject)
  expect(address).toMatch(/^https:\/\/hooks\.example\.com\/hooks\/[\w-]+$/)
  expect(address!.length).toBeLessThanOrEqual(255)
  expect(opened(address)).toMatchObject({ ok: true, subject })
  expect(counter.dropped).toBe(0)
})

test('a hook address that would be too long leaves out correlation, tenant and campaign, and is counted', () => {
  const { url, opened, counter } = urlBench()
  const address = url(hookSubject({ correlationId: 'x'.repeat(120) }))
  expect(address!.length).toBeLessThanOrEqual(255)
  expect(opened(address)).toMatchObject({
    ok: true,
    subject: hookSubject({ correlationId: null, tenant: null, campaign: null }),
  })
  expect(counter.dropped).toBe(1)
})

test.each(['correlationId', 'tenant', 'campaign'])(
  'a hook address that a long %s alone makes too long leaves it out',
  mark => {
    const { url, opened, counter } = urlBench()
    const unmarked = { correlationId: null, tenant: null, campaign: null }
    const address = url(hookSubject({ ...unmarked, [mark]: 'x'.repeat(120) }))
    expect(opened(address)).toMatchObject({ ok: true, subject: hookSubject(unmarked) })
    expect(counter.dropped).toBe(1)
  },
)

test('the longest hook address is exactly as long as allowed', () => {
  const { url, counter } = urlBench()
  const lengths = Array.from({ length: 120 }, (_, n) => url(hookSubject({ correlationId: 'x'.repeat(n) }))!.length)
  expect(Math.max(...lengths)).toBe(255)
  expect(counter.dropped).toBeGreaterThan(0)
})

test('a hook address that would be too long leaves out the trace first, which is not counted', () => {
  const { url, opened, counter } = urlBench()
  const trace = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', flags: 1, state: null }
  const [short, long] = [hookSubject({ trace }), hookSubject({ trace, correlationId: 'x'.repeat(80) })]
  expect(opened(url(short))).toMatchObject({ ok: true, subject: short })
  expect(opened(url(long))).toMatchObject({ ok: true, subject: { ...long, trace: null } })
  expect(counter.dropped).toBe(0)
  const longest = hookSubject({ trace, correlationId: 'x'.repeat(120) })
  const bare = { ...longest, correlationId: null, tenant: null, campaign: null, trace: null }
  expect(opened(url(longest))).toMatchObject({ ok: true, subject: bare })
  expect(counter.dropped).toBe(1)
})

test('an address without correlation, tenant and campaign that is too long is not counted', () => {
  const { url, counter } = urlBench()
  const unmarked = { correlationId: null, tenant: null, campaign: null }
  expect(url(hookSubject({ ...unmarked, account: 'x'.repeat(200) }))).toBeNull()
  expect(counter.dropped).toBe(0)
})

test('the least length of addresses that the settings may allow is the one with which every command gets one', () => {
  const refusal = (urlMaxLength: number) => {
    try {
      urlBench({ urlMaxLength })
      return null
    } catch (error) {
      return (error as Error).message
    }
  }
  const needed = Number(/takes (\d+) characters/.exec(refusal(1)!)![1])
  expect([refusal(needed - 1) !== null, refusal(needed)]).toEqual([true, null])
  const { url } = urlBench({ urlMaxLength: needed })
  const lengths = sendTypes.map(type => {
    const bare = { type, correlationId: null, tenant: null, campaign: null, trace: null }
    return url(hookSubject({ ...bare, id: 2n ** 63n - 1n, country: 'UA' }))?.length ?? Number.NaN
  })
  expect(Math.max(...lengths)).toBe(needed)
})

test.each([
  ['/hooks/other/shop/TOKEN', 'path'],
  ['/x/account/shop/TOKEN', 'path'],
  ['/hooks/account/shop2/TOKEN', 'forged'],
  ['/hooks/account/shop/x', 'malformed'],
  ['/hooks/account', 'malformed'],
  ['/hooks', 'path'],
  ['', 'path'],
])('a request to %s is refused: %s', (target, reason) => {
  const { tokens } = urlBench()
  expect(callbackOriginOf(target.replace('TOKEN', tokens.issueAccount('shop')), tokens)).toBe(reason)
})

test('there is no hook address if it would be too long even without correlation', () => {
  const { url } = urlBench()
  expect(url(hookSubject({ account: 'x'.repeat(200) }))).toBeNull()
  expect(url(hookSubject({ account: 'x'.repeat(200), correlationId: null, tenant: null }))).toBeNull()
})

test('a public address without room for a token is refused at start, naming the settings', () => {
  expect(() => urlBench({ publicUrl: `https://${'x'.repeat(200)}.example.com` })).toThrow(
    /callbacks\.publicUrl .*is too long.*callbacks\.urlMaxLength allows 255/,
  )
})

test('an account name without room for a token is refused at start', () => {
  expect(() => urlBench({ accounts: ['default', 'x'.repeat(120)] })).toThrow("with the longest account's name")
})

/** An address in another spelling that RFC 3986 calls equal, or that a careless sender writes. */
const spelling = fc.record({
  escaped: fc.func(fc.boolean()),
  lower: fc.boolean(),
  slashes: fc.array(fc.constantFrom('/', '//', '/./', '/x/../', '/%2e/', '/x/%2E%2e/'), {
    minLength: 6,
    maxLength: 6,
  }),
  end: fc.constantFrom('', '/', '//', '/.', '?retry=1', '/?', '#end'),
  host: fc.constantFrom('', 'http://hooks.example:8080', '/gate/way'),
})
type Spelling = typeof spelling extends fc.Arbitrary<infer T> ? T : never

function spelt(path: string, { escaped, lower, slashes, end, host }: Spelling): string {
  const code = (character: string) => `%${character.charCodeAt(0).toString(16)}`
  const segments = path.slice(1).split('/')
  const text = (segment: string, i: number) =>
    [...segment]
      .map((character, j) => (escaped(i, j) ? (lower ? code(character) : code(character).toUpperCase()) : character))
      .join('')
  return `${host}${segments.map((segment, i) => `${slashes[i]}${text(segment, i)}`).join('')}${end}`
}

test('a callback finds its message or account in every spelling of the address', () => {
  const { tokens, url } = urlBench()
  const subject = hookSubject()
  const message = new URL(url(subject)!).pathname
  const account = new URL(accountHookUrl(publicUrl, tokens, 'shop')).pathname
  fc.assert(
    fc.property(spelling, how => {
      expect(callbackOriginOf(spelt(message, how), tokens)).toMatchObject({ kind: 'message', subject })
      expect(callbackOriginOf(spelt(account, how), tokens)).toEqual({ kind: 'account', account: 'shop' })
    }),
    { numRuns: 1000 },
  )
})

test('the case of a token counts, and so does an escaped slash', () => {
  const { tokens, url } = urlBench()
  const path = new URL(url(hookSubject())!).pathname
  const at = path.search(/[a-z][^a-z]*$/)
  const other = path.slice(0, at) + path[at]!.toUpperCase() + path.slice(at + 1)
  expect(callbackOriginOf(other, tokens)).toBeTypeOf('string')
  expect(callbackOriginOf(path.replace('/hooks/', '/hooks%2F'), tokens)).toBe('path')
})

test('every request target is a message, an account or a refusal', () => {
  const { tokens } = urlBench()
  const part = fc.oneof(
    fc.constantFrom('hooks', 'account', '..', '.', '', '%', '%2', '%2e', '%00', '?', '#', '__proto__'),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), parts => {
      expect(callbackOriginOf(`/${parts.join('/')}`, tokens)).toBeTypeOf('string')
    }),
    { numRuns: 1000 },
  )
})
