import { expect, test } from 'vitest'
import { hookUrl } from '../../src/callbacks/hook-url.ts'
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

test('the longest hook address is exactly as long as allowed', () => {
  const { url, counter } = urlBench()
  const lengths = Array.from({ length: 120 }, (_, n) => url(hookSubject({ correlationId: 'x'.repeat(n) }))!.length)
  expect(Math.max(...lengths)).toBe(255)
  expect(counter.dropped).toBeGreaterThan(0)
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
