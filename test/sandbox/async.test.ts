import { request } from 'undici'
import { expect, test } from 'vitest'
import { asyncResponse, stringifyJson } from '../../src/protocol/index.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import { callbackReceiver, operation, sandboxFor } from './support.ts'

const json = { 'content-type': 'application/json' }

async function postAsync(sandbox: Sandbox, body: string, headers: Record<string, string> = json) {
  const response = await request(sandbox.asyncUrl, { method: 'POST', headers, body })
  return { status: response.statusCode, body: (await response.body.json()) as Record<string, unknown> }
}

/** Queues valid operations. @returns their request id */
async function queue(sandbox: Sandbox, ...data: unknown[]): Promise<string> {
  const { status, body } = await postAsync(sandbox, stringifyJson({ auth: 'sandbox-key', data }))
  expect({ status, body }).toEqual({ status: 200, body: { request_id: expect.any(String), success: true } })
  return asyncResponse.parse(body).request_id!
}

test('an envelope is answered with a request id, and each of its operations is executed once', async () => {
  const sandbox = await sandboxFor()
  const sent = [operation('sms'), operation('viber'), operation('hlr')]
  await queue(sandbox, ...sent)
  expect(sent.map(({ id }) => sandbox.executions(id as number))).toEqual([1, 1, 1])
  expect(sandbox.stats()).toMatchObject({ requests: 1, executed: 3 })
  expect(sandbox.log()).toMatchObject([{ account: 'default', operations: 3, refused: 0, error: null }])
})

test("every refusal is called back at its operation's hook, if it has one", async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ open: { voiceHook: 'dropped' } })
  const hook = receiver.url
  await queue(
    sandbox,
    operation('sms', { id: 1, hook, sms_message: undefined }),
    operation('viber', { id: 2, hook, phone: 380670000092 }),
    operation('telegram', { id: 3, phone: 380670000092 }),
    operation('call/otp', { id: 4, hook, phone: 380670000091 }),
    operation('voice', { id: 5, hook, phone: 380670000092 }),
    { type: 'fax', id: 6, hook },
    null,
  )
  await sandbox.drained()
  await sandbox.close()
  const updated = expect.stringMatching(/^\d{4}-/)
  expect(receiver.received.map(({ body }) => [body.id, body.type, body.error, body.updated]).sort()).toEqual([
    ['1', 'sms', 'Please enter SMS text', updated],
    ['2', 'viber', 'Not enough money', updated],
  ])
  expect(sandbox.stats().executed).toBe(0)
})

const valid = stringifyJson({ auth: 'sandbox-key', data: [operation('sms')] })

test.for([
  [400, 'broken JSON', valid.slice(0, -2), json, /not JSON/],
  [400, 'no operation', stringifyJson({ auth: 'sandbox-key', data: [] }), json, /data/],
  [401, 'a wrong key', valid.replace('sandbox-key', 'other'), json, 'Access denied'],
  [413, 'too many operations', stringifyJson({ auth: 'sandbox-key', data: [{}, {}] }), json, /too many/],
  [415, 'a wrong content type', valid, { 'content-type': 'text/plain' }, /Content-Type/],
] as const)('HTTP 200, or with asyncStatus=http %d, answers %s, and nothing is executed', async input => {
  const [http, , body, headers, error] = input
  for (const [asyncStatus, status] of [
    ['always200', 200],
    ['http', http],
  ] as const) {
    const sandbox = await sandboxFor({ maxOperations: 1, open: { asyncStatus } })
    expect(await postAsync(sandbox, body, headers)).toEqual({
      status,
      body: { success: false, error: expect.stringMatching(error) },
    })
    expect(sandbox.stats()).toMatchObject({ requests: 1, executed: 0 })
  }
})

test('HTTP 405 answers another method with asyncStatus=http', async () => {
  const sandbox = await sandboxFor({ open: { asyncStatus: 'http' } })
  const { statusCode, body } = await request(sandbox.asyncUrl)
  expect(statusCode).toBe(405)
  expect(await body.json()).toMatchObject({ success: false })
})
