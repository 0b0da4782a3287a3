import { describe, expect, test } from 'vitest'
import { stringifyJson } from '../../src/protocol/index.ts'
import type { FaultName, SandboxOptions } from '../../src/sandbox/index.ts'
import { callbackReceiver, sandboxFor } from '../sandbox/support.ts'
import { clientFor, failureOf } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { type ProxyAnswer, startProxy } from '../support/reverse-proxy.ts'

const sms = buildOperation('sms')

async function start(options: SandboxOptions = {}) {
  const sandbox = await sandboxFor(options)
  return { sandbox, client: clientFor(sandbox.url, { asyncUrl: sandbox.asyncUrl }) }
}

test('sendAsync queues operations, and their callbacks repeat the request id', async () => {
  const receiver = await callbackReceiver()
  const { sandbox, client } = await start()
  const hook = receiver.url
  const { requestId } = await client.sendAsync([
    { ...sms, id: 1, hook },
    buildOperation('pipeline', { id: 2n ** 60n, hook, phone: 380501234590 }),
  ])
  await sandbox.drained()
  await sandbox.close()
  expect(receiver.received.map(({ body }) => [body.id, body.success, body.status, body.request_id]).sort()).toEqual([
    ['1', true, 'DELIVERED', requestId],
    [String(2n ** 60n), false, 'REJECTED', requestId],
  ])
})

test('sendAsync needs the option asyncUrl', async () => {
  const sandbox = await sandboxFor()
  const error = await failureOf(clientFor(sandbox.url).sendAsync([sms]))
  expect(error).toBeInstanceOf(TypeError)
  expect(error.message).toBe('GatewayClient: sendAsync needs the option asyncUrl')
})

test('sendAsync does not queue operations that violate the interface', async () => {
  const { sandbox, client } = await start()
  const bad = { ...sms, phone: '1' as never }
  expect(await failureOf(client.sendAsync([sms, bad]))).toMatchObject({ code: 'VALIDATION', index: 1, field: 'phone' })
  expect(sandbox.stats().requests).toBe(0)
})

test('sendAsync fails with an AccessDeniedError if the key is refused', async () => {
  const sandbox = await sandboxFor()
  const client = clientFor(sandbox.url, { asyncUrl: sandbox.asyncUrl, apiKey: 'other' })
  expect(await failureOf(client.sendAsync([sms]))).toMatchObject({
    name: 'AccessDeniedError',
    message: 'Access denied',
    definite: true,
  })
})

test('sendAsync fails with a RefusedError if the gateway refuses the envelope with HTTP 200', async () => {
  const { sandbox, client } = await start()
  sandbox.faults.next('envelope-refused')
  expect(await failureOf(client.sendAsync([sms]))).toMatchObject({ message: 'Service unavailable', definite: true })
})

test('sendAsync fails with a RefusedError if there are too many operations', async () => {
  const { client } = await start({ maxOperations: 1 })
  expect(await failureOf(client.sendAsync([sms, sms]))).toMatchObject({ name: 'RefusedError', definite: true })
})

test.each<[FaultName, object]>([
  ['envelope-refused', { name: 'InDoubtError', reason: 'http_status', definite: false, retryable: false }],
  ['reset-after', { name: 'InDoubtError', reason: 'reset', definite: false }],
  ['truncated-json', { name: 'InDoubtError', reason: 'foreign_body' }],
  ['foreign-json', { name: 'InDoubtError', reason: 'foreign_body' }],
  ['http-502', { name: 'InDoubtError', reason: 'http_status' }],
  ['http-401', { name: 'AccessDeniedError', message: 'HTTP 401', definite: true }],
  ['http-413', { name: 'RefusedError', message: 'HTTP 413', definite: true }],
  ['http-429', { name: 'ThrottledError', retryAfterMs: 1000, definite: true }],
])('sendAsync reports the gateway fault %s', async (fault, error) => {
  const { sandbox, client } = await start({ open: { asyncStatus: 'http' } })
  sandbox.faults.next(fault)
  expect(await failureOf(client.sendAsync([sms]))).toMatchObject(error)
})

test('sendAsync retries operations that were not queued, if retries are set, but never those in doubt', async () => {
  const sandbox = await sandboxFor({ open: { asyncStatus: 'http' } })
  const client = clientFor(sandbox.url, { asyncUrl: sandbox.asyncUrl, retries: 3 })
  sandbox.faults.next('http-429')
  expect(await client.sendAsync([sms])).toMatchObject({ requestId: expect.any(String) })
  sandbox.faults.next('reset-after')
  expect(await failureOf(client.sendAsync([sms]))).toMatchObject({ code: 'RESPONSE_LOST' })
  sandbox.faults.next('envelope-refused')
  expect(await failureOf(client.sendAsync([sms]))).toMatchObject({ message: 'HTTP 503', definite: false })
  expect(sandbox.stats()).toMatchObject({ requests: 4, executed: 2 })
})

describe('an answer to sendAsync', () => {
  test.each<[string, ProxyAnswer, object]>([
    [
      '400 without a body',
      { status: 400, body: '' },
      { name: 'RefusedError', code: 'VALIDATION', message: 'HTTP 400' },
    ],
    ['503 of a proxy', { status: 503, body: '<h1>503</h1>' }, { name: 'InDoubtError', definite: false }],
    ...[500, 502, 503, 504].flatMap((status): [string, ProxyAnswer, object][] =>
      [
        { success: false, error: 'Service unavailable' },
        { success: true, request_id: 'x' },
      ].map(body => [
        `${status} with success: ${body.success}`,
        { status, body: stringifyJson(body) },
        { name: 'InDoubtError', reason: 'http_status', message: `HTTP ${status}`, retryable: false },
      ]),
    ),
    ['405', { status: 405, body: '' }, { name: 'UnreachableError', message: 'HTTP 405', definite: true }],
    ['200 with a refusal', { body: '{"success":false,"error":"Not enough money"}' }, { code: 'INSUFFICIENT_FUNDS' }],
    ['200 without a request id', { body: '{"success":true}' }, { code: 'PAYLOAD_UNREADABLE', definite: false }],
  ])('with the status %s is reported with the right error', async (_, answer, error) => {
    const proxy = await startProxy()
    proxy.answer = () => answer
    expect(await failureOf(clientFor('http://127.0.0.1:1', { asyncUrl: proxy.url }).sendAsync([sms]))).toMatchObject(
      error,
    )
  })

  test('may contain a number as request id, and asyncUrl a query', async () => {
    const proxy = await startProxy()
    proxy.answer = () => ({ body: stringifyJson({ success: true, request_id: 17 }) })
    const client = clientFor('http://127.0.0.1:1', { asyncUrl: `${proxy.url}/queue?lane=2` })
    expect(await client.sendAsync([sms])).toEqual({ requestId: '17' })
    expect(proxy.requests.map(({ path }) => path)).toEqual(['/queue?lane=2'])
  })
})
