import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { Secret } from '../../src/config/secret.ts'
import { GatewayClient, GatewayError } from '../../src/gateway/index.ts'
import { stringifyJson } from '../../src/protocol/index.ts'
import { sandboxFor } from '../sandbox/support.ts'
import { clientFor, failureOf } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

const key = 'k3y-that-nobody-may-see'
const sms = buildOperation('sms')

test.each([
  ['text', 'a-key'],
  ['a function', () => 'a-key'],
  ['a secret', new Secret(() => 'a-key')],
])('the API key may be %s', async (_, apiKey) => {
  const sandbox = await sandboxFor({ keys: ['a-key'] })
  expect(await clientFor(sandbox.url, { apiKey }).balance()).toMatchObject({ currency: 'UAH' })
})

test('a changed key is used from the next request on', async () => {
  const sandbox = await sandboxFor({ keys: ['first'] })
  let current = 'first'
  const client = clientFor(sandbox.url, { apiKey: () => current })
  await client.balance()
  sandbox.setKeys(['second'])
  expect(await failureOf(client.balance())).toMatchObject({ code: 'ACCESS_DENIED' })
  current = 'second'
  await client.balance()
})

test('a function that returns no key is an error, and nothing is sent', async () => {
  const sandbox = await sandboxFor()
  for (const apiKey of [() => '', () => undefined as never]) {
    const error = await failureOf(clientFor(sandbox.url, { apiKey }).balance())
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toBe('GatewayClient: apiKey returned no key')
  }
  expect(sandbox.stats().requests).toBe(0)
})

const everything = (value: unknown) => [
  inspect(value, { depth: Infinity, showHidden: true, getters: true }),
  JSON.stringify(value),
  String(value),
  value instanceof Error ? String(value.stack) : '',
]

test('the client never shows its key', async () => {
  const sandbox = await sandboxFor({ keys: [key] })
  for (const apiKey of [key, () => key, new Secret(() => key)]) {
    const client = clientFor(sandbox.url, { apiKey })
    await client.balance()
    for (const text of everything(client)) expect(text).not.toContain(key)
  }
})

test.each([
  ['the gateway repeats the request', undefined],
  ['it refuses an envelope with the key', { success: false, error: `No account has ${key}` }],
  ['it refuses an item with the key', { success: true, data: [{ success: false, error: `${key}${key}` }] }],
  ['its refusal is very long', { success: false, error: `${'x'.repeat(1020)}${key}` }],
])('no error shows the key if %s', async (_, answer) => {
  const proxy = await startProxy()
  proxy.answer = ({ body }) => ({ body: answer ? stringifyJson(answer) : body })
  const client = clientFor(proxy.url, { apiKey: key, asyncUrl: `${proxy.url}/v1/json` })
  for (const call of [() => client.sms(sms), () => client.sendAsync([sms])]) {
    const error = await failureOf(call())
    expect(error).toBeInstanceOf(GatewayError)
    for (const text of everything(error)) expect(text).not.toContain(key)
    expect(error.message.length).toBeLessThanOrEqual(1024)
  }
})

test("no error shows an operation's phone or text", async () => {
  const sandbox = await sandboxFor()
  const secret = { phone: 380671112233, sms_message: 'the secret text' }
  const errors = [
    await failureOf(clientFor('http://127.0.0.1:1').sms({ ...sms, ...secret })),
    await failureOf(clientFor(sandbox.url).sms({ ...sms, ...secret, sms_lifetime: 1 })),
    await failureOf(clientFor(sandbox.url).sms({ ...sms, ...secret, phone: '+380671112233' as never })),
  ]
  for (const error of errors) for (const text of everything(error)) expect(text).not.toMatch(/380671112233|secret text/)
})

test('the error of an invalid option does not show the key', () => {
  expect(() => new GatewayClient({ url: 'no address', apiKey: key })).toThrow(/^(?!.*k3y)/)
})
