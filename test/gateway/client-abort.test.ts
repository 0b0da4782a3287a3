import { describe, expect, test } from 'vitest'
import type { RequestInfo } from '../../src/gateway/index.ts'
import { sandboxFor } from '../sandbox/support.ts'
import { clientFor, failureOf } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

const sms = (id = 1) => buildOperation('sms', { id })

describe('an abort', () => {
  test('before the call sends nothing', async () => {
    const sandbox = await sandboxFor()
    const reason = new Error('never mind')
    const error = await failureOf(clientFor(sandbox.url).sms(sms(), { signal: AbortSignal.abort(reason) }))
    expect(error).toMatchObject({
      name: 'AbortedError',
      code: 'ABORTED',
      definite: true,
      retryable: false,
      cause: reason,
    })
    expect(sandbox.stats().requests).toBe(0)
  })

  test('while the call waits for a free connection sends nothing', async () => {
    const sandbox = await sandboxFor()
    sandbox.faults.next('stall')
    const client = clientFor(sandbox.url, { connections: 1 })
    const [abortStalled, abort] = [new AbortController(), new AbortController()]
    const stalled = failureOf(client.sms(sms(1), { signal: abortStalled.signal }))
    const waiting = failureOf(client.sms(sms(2), { signal: abort.signal }))
    await expect.poll(() => sandbox.executions(1)).toBe(1)
    abort.abort()
    expect(await waiting).toMatchObject({ code: 'ABORTED', definite: true })
    abortStalled.abort()
    expect(await stalled).toMatchObject({ definite: false })
    expect(await client.sms(sms(3))).toMatchObject({ id: 3 })
    expect(sandbox.executions(2)).toBe(0)
  })

  test('after the first byte leaves the operation in doubt', async () => {
    const sandbox = await sandboxFor()
    sandbox.faults.next('stall')
    const abort = new AbortController()
    const call = failureOf(clientFor(sandbox.url, { retries: 3 }).sms(sms(), { signal: abort.signal }))
    await expect.poll(() => sandbox.executions(1)).toBe(1)
    abort.abort()
    expect(await call).toMatchObject({ name: 'AbortedError', definite: false, retryable: false })
    expect(sandbox.stats().requests).toBe(1)
  })

  test('between two attempts ends the back-off and sends nothing more', async () => {
    const proxy = await startProxy()
    const client = clientFor(proxy.url, { retries: 1, connections: 1 })
    const abort = new AbortController()
    const call = failureOf(client.sms(sms(), { signal: abort.signal }))
    proxy.answer = ({ body }) => ({
      status: body.includes('balance') ? 500 : 429,
      headers: { 'retry-after': '20' },
      body: '',
    })
    await failureOf(client.balance()) // on the same connection, so the first answer has arrived
    abort.abort()
    expect(await call).toMatchObject({ code: 'ABORTED', definite: true })
    expect(proxy.requests).toHaveLength(2)
  })

  test('after the answer has no effect; the next call with the same signal is refused', async () => {
    const sandbox = await sandboxFor()
    const client = clientFor(sandbox.url)
    const abort = new AbortController()
    const options = { signal: abort.signal }
    expect(await client.sms(sms(1), options)).toMatchObject({ id: 1 })
    abort.abort()
    expect(await failureOf(client.sms(sms(2), options))).toMatchObject({ definite: true })
    expect(sandbox.stats().executed).toBe(1)
  })
})

describe('onRequest', () => {
  test('runs before the first byte, with types and attempt', async () => {
    const sandbox = await sandboxFor()
    const calls: [RequestInfo, number][] = []
    const onRequest = (request: RequestInfo) => void calls.push([request, sandbox.stats().requests])
    await clientFor(sandbox.url, { onRequest }).send([sms(), { type: 'balance' }])
    expect(calls).toEqual([[{ types: ['sms', 'balance'], attempt: 1 }, 0]])
  })

  test('withholds the request if it throws', async () => {
    const sandbox = await sandboxFor()
    const cause = new Error('the journal is full')
    const client = clientFor(sandbox.url, {
      onRequest() {
        throw cause
      },
    })
    expect(await failureOf(client.sms(sms()))).toMatchObject({ name: 'AbortedError', definite: true, cause })
    expect(sandbox.stats().requests).toBe(0)
  })
})
