import { describe, expect, test } from 'vitest'
import { InDoubtError, ThrottledError, UnreachableError } from '../../src/gateway/index.ts'
import { delayAfter } from '../../src/gateway/transport.ts'
import { stringifyJson } from '../../src/protocol/index.ts'
import { sandboxFor } from '../sandbox/support.ts'
import { sentItem } from '../support/answers.ts'
import { clientFor, failureOf } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

const sms = (id: number, ending = '67') => buildOperation('sms', { id, phone: Number(`3805012345${ending}`) })

test('the client retries nothing by default', async () => {
  const sandbox = await sandboxFor()
  expect(await failureOf(clientFor(sandbox.url).sms(sms(1, '98')))).toMatchObject({ code: 'THROTTLED' })
  expect(sandbox.stats().requests).toBe(1)
})

test('the client retries only throttled operations', async () => {
  const sandbox = await sandboxFor()
  const attempts: number[] = []
  const client = clientFor(sandbox.url, {
    retries: 2,
    onRequest: ({ types, attempt }) => attempts.push(attempt, types.length),
  })
  const results = await client.send([sms(1), sms(2, '98'), sms(3, '90'), sms(4)])
  expect(results.map(result => (result.ok ? result.data.id : result.error.code))).toEqual([1, 2, 'SENDER_INVALID', 4])
  expect(attempts).toEqual([1, 4, 2, 1])
  expect(sandbox.stats()).toMatchObject({ executed: 3, billedTwice: 0 })
})

test('the client gives up after the given number of retries', async () => {
  const proxy = await startProxy()
  proxy.answer = () => ({ status: 429, headers: { 'retry-after': '0' }, body: '' })
  expect(await failureOf(clientFor(proxy.url, { retries: 2 }).sms(sms(1)))).toMatchObject({ code: 'THROTTLED' })
  expect(proxy.requests).toHaveLength(3)
})

test('the client succeeds once the gateway is available again', async () => {
  const proxy = await startProxy()
  proxy.answer = () =>
    proxy.requests.length < 3
      ? { status: 404, body: '' }
      : { body: stringifyJson({ success: true, data: [sentItem(1)] }) }
  expect(await clientFor(proxy.url, { retries: 5 }).sms(sms(1))).toMatchObject({ msg_id: 'm1' })
})

test('a retry in doubt keeps the definite results of the first attempt', async () => {
  const sandbox = await sandboxFor()
  const onRequest = ({ attempt }: { attempt: number }) => {
    if (attempt === 2) sandbox.faults.next('reset-after')
  }
  const results = await clientFor(sandbox.url, { retries: 5, onRequest }).send([sms(1), sms(2, '98')])
  expect(results.map(result => (result.ok ? 'ok' : result.error.code))).toEqual(['ok', 'RESPONSE_LOST'])
  expect(sandbox.stats()).toMatchObject({ requests: 2, executed: 2 })
})

test('a Retry-After above 30 s is left to the caller', async () => {
  const proxy = await startProxy()
  proxy.answer = () => ({ status: 429, headers: { 'retry-after': '3600' }, body: '' })
  expect(await failureOf(clientFor(proxy.url, { retries: 5 }).sms(sms(1)))).toMatchObject({ retryAfterMs: 3_600_000 })
  expect(proxy.requests).toHaveLength(1)
})

describe('the back-off before the next attempt', () => {
  const unreachable = new UnreachableError('ECONNREFUSED', null)

  test.each([
    [1, 250],
    [2, 500],
    [3, 1000],
    [7, 10_000],
    [100, 10_000],
  ])('after attempt %d is random between 0 and %d ms', (attempt, longest) => {
    expect(delayAfter([unreachable], attempt, () => 0)).toBe(0)
    expect(delayAfter([unreachable], attempt, () => 0.5)).toBe(longest / 2)
    expect(delayAfter([null, unreachable], attempt, () => 1)).toBe(longest)
  })

  test('is added to the longest Retry-After', () => {
    const errors = [new ThrottledError('', 3000), unreachable, null, new ThrottledError('', 7000)]
    expect(delayAfter(errors, 1, () => 0.5)).toBe(7125)
  })

  test('is null if nothing can be retried', () => {
    expect(delayAfter([], 1)).toBeNull()
    expect(delayAfter([null, new InDoubtError('', 'reset')], 1)).toBeNull()
    expect(delayAfter([new ThrottledError('', 30_001)], 1)).toBeNull()
  })
})
