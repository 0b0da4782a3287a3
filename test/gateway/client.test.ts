import { describe, expect, test } from 'vitest'
import { GatewayClient, type GatewayClientOptions, type UnreadablePayloadError } from '../../src/gateway/index.ts'
import { type OperationObject, stringifyJson } from '../../src/protocol/index.ts'
import type { FaultName } from '../../src/sandbox/index.ts'
import { sandboxFor } from '../sandbox/support.ts'
import { refusedItem, sentItem } from '../support/answers.ts'
import { clientFor, failureOf } from '../support/client.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

const sms = (id: number | bigint = 1, change: Record<string, unknown> = {}) => buildOperation('sms', { id, ...change })

const inDoubt = (reason: string) => ({
  name: 'InDoubtError',
  code: 'RESPONSE_LOST',
  definite: false,
  retryable: false,
  reason,
})

/** Opens a client of a gateway that gives the same answer to every request. */
async function clientAnswered(answer: unknown, options: Partial<GatewayClientOptions> = {}) {
  const proxy = await startProxy()
  proxy.answer = () => ({ body: typeof answer === 'string' ? answer : stringifyJson(answer) })
  return clientFor(proxy.url, options)
}

describe('an envelope of several operations', () => {
  test('returns a result for each operation in order, with its own type', async () => {
    const sandbox = await sandboxFor()
    const results = await clientFor(sandbox.url).send([
      { type: 'balance' },
      sms(1),
      sms(2, { phone: 380501234592 }),
      { type: 'status', id: 1 },
      { type: 'template/create', template: 'Hello' },
    ])
    const [balance, first, second, status, template] = results
    expect(results).toHaveLength(5)
    expect(balance).toMatchObject({ ok: true, type: 'balance', data: { currency: 'UAH' } })
    expect(first).toMatchObject({ ok: true, type: 'sms', data: { id: 1, parts: 1 } })
    expect(second.ok || second.error).toMatchObject({
      name: 'RefusedError',
      code: 'INSUFFICIENT_FUNDS',
      definite: true,
    })
    expect(status).toMatchObject({ ok: true, type: 'status', data: { id: 1, type: 'sms' } })
    expect(template).toMatchObject({ ok: true, type: 'template/create', data: { template: 'Hello' } })
    expect(sandbox.stats()).toMatchObject({ requests: 1, executed: 1 })
  })

  test('is not sent if it violates the interface, and every violation is named', async () => {
    const sandbox = await sandboxFor()
    const list = [sms(1), sms(2, { phone: '+380', sms_message: undefined }), { type: 'fax' }, null] as OperationObject[]
    expect(await failureOf(clientFor(sandbox.url).send(list))).toMatchObject({
      name: 'ValidationError',
      index: 1,
      field: 'phone',
      definite: true,
      problems: [
        { index: 1, field: 'phone', message: expect.stringContaining('phone must be a number') },
        { index: 1, field: 'sms_message', message: 'sms_message is required and must be text' },
        { index: 2, field: 'type' },
        { index: 3, field: 'type' },
      ],
    })
    expect(sandbox.stats().requests).toBe(0)
  })

  test('is not sent if a property cannot be written as JSON', async () => {
    const sandbox = await sandboxFor()
    const loop: Record<string, unknown> = {}
    loop.loop = loop
    expect(await failureOf(clientFor(sandbox.url).send([sms(1, { loop })]))).toMatchObject({
      code: 'VALIDATION',
      index: 0,
    })
    expect(sandbox.stats().requests).toBe(0)
  })

  test.each([
    ['fewer-items', ['ok', 'ok', 'RESPONSE_LOST']],
    ['items-reordered', ['ok', 'ok', 'ok']],
    ['foreign-ids', ['RESPONSE_LOST', 'RESPONSE_LOST', 'RESPONSE_LOST']],
  ] as const)(
    'gets definite results for the ids in a wrong answer, and is otherwise in doubt: %s',
    async (fault, outcomes) => {
      const sandbox = await sandboxFor()
      sandbox.faults.next(fault)
      const results = await clientFor(sandbox.url).send([sms(1), sms(2), sms(3)])
      expect(results.map(result => (result.ok ? 'ok' : result.error.code))).toEqual(outcomes)
      for (const result of results) if (!result.ok) expect(result.error).toMatchObject(inDoubt('items_differ'))
    },
  )

  test('that contains an id twice leaves both operations in doubt if an item is missing', async () => {
    const client = await clientAnswered({ success: true, data: [sentItem(1), sentItem(2)] })
    const results = await client.send([sms(1), { type: 'status', id: 1 }, sms(2)])
    expect(results.map(({ ok }) => ok)).toEqual([false, false, true])
  })

  test('is not matched by the id of a template', async () => {
    const template = { type: 'template/create', template: 'Hello' } as const
    const created = { success: true, data: { id: 7 } }
    const whole = await clientAnswered({ success: true, data: [created, sentItem(1)] })
    expect((await whole.send([template, sms(1)])).map(({ ok }) => ok)).toEqual([true, true])
    const lacking = await clientAnswered({ success: true, data: [created] })
    expect((await lacking.send([template, sms(7)])).map(({ ok }) => ok)).toEqual([false, false])
  })
})

describe('an operation is in doubt', () => {
  test.each<[FaultName, string]>([
    ['reset-after', 'reset'],
    ['stall', 'timeout'],
    ['truncated-json', 'foreign_body'],
  ])('and never sent again after the gateway fault %s (cause %s)', async (fault, reason) => {
    const sandbox = await sandboxFor()
    sandbox.faults.next(fault)
    const client = clientFor(sandbox.url, { timeoutMs: fault === 'stall' ? 100 : 5000, retries: 3 })
    expect(await failureOf(client.sms(sms()))).toMatchObject(inDoubt(reason))
    await expect.poll(() => sandbox.stats().requests).toBe(1) // it may read the request after the time-out
  })

  test('if the answer is longer than allowed', async () => {
    const client = await clientAnswered({ success: true, data: [sentItem(1)] }, { maxResponseBytes: 20 })
    expect(await failureOf(client.sms(sms()))).toMatchObject(inDoubt('response_too_large'))
  })
})

describe('an operation is reported as not sent', () => {
  test('if the gateway redirects, and the redirect is not followed', async () => {
    const sandbox = await sandboxFor()
    const proxy = await startProxy()
    proxy.answer = () => ({ status: 307, headers: { location: `${sandbox.url}/api/json.php` }, body: '' })
    expect(await failureOf(clientFor(proxy.url).sms(sms()))).toMatchObject({
      name: 'UnreachableError',
      definite: true,
      message: expect.stringContaining(`a redirect to ${sandbox.url}`),
    })
    expect(sandbox.stats().requests).toBe(0)
  })

  test.each<[FaultName, object]>([
    [
      'http-401',
      {
        name: 'UnreachableError',
        code: 'UNREACHABLE',
        message: expect.stringMatching(/^HTTP 401: .* check the API key and the proxy$/),
      },
    ],
    ['http-429', { name: 'ThrottledError', code: 'THROTTLED', retryable: true, retryAfterMs: 1000 }],
    ['http-413', { name: 'RefusedError', code: 'REJECTED', message: 'HTTP 413' }],
    ['throttle', { name: 'ThrottledError', code: 'THROTTLED', retryable: true, retryAfterMs: null }],
    ['access-denied', { name: 'AccessDeniedError', code: 'ACCESS_DENIED' }],
    ['envelope-refused', { name: 'RefusedError', code: 'REJECTED', message: 'Service unavailable' }],
  ])('after the gateway fault %s', async (fault, error) => {
    const sandbox = await sandboxFor()
    sandbox.faults.next(fault)
    expect(await failureOf(clientFor(sandbox.url).sms(sms()))).toMatchObject({ definite: true, ...error })
    expect(sandbox.stats().executed).toBe(0)
  })

  test("if the gateway refuses with a text of the caller's errorTexts", async () => {
    const answer = { success: true, data: [refusedItem(1, 'Daily limit reached.')] }
    const client = await clientAnswered(answer, { errorTexts: { 'daily limit reached': 'OPERATOR_UNSUPPORTED' } })
    expect(await failureOf(client.sms(sms()))).toMatchObject({
      code: 'OPERATOR_UNSUPPORTED',
      message: 'Daily limit reached.',
    })
  })

  test('if the client was closed', async () => {
    const sandbox = await sandboxFor()
    const client = clientFor(sandbox.url)
    await client.close()
    expect(await failureOf(client.balance())).toMatchObject({ code: 'UNREACHABLE', definite: true })
    expect(sandbox.stats().requests).toBe(0)
  })
})

describe('an executed operation with an unreadable payload', () => {
  test.each<[string, OperationObject, unknown, object]>([
    ['an sms without a msg_id', sms(), { id: 1 }, { id: 1 }],
    ['an sms without data', sms(), null, {}],
    ['a number as code', buildOperation('call/otp'), { code: 42_100, price: 1 }, { price: 1, raw: { code: 42_100 } }],
    ['a balance in words', { type: 'balance' }, { amount: '1 234,50' }, { raw: { amount: '1 234,50' } }],
    ['a status beside the data', { type: 'status', id: 1 }, { id: 'gw-1' }, { status: 'READ', data: { id: 'gw-1' } }],
  ])('is executed, and has all that came: %s', async (_, operation, data, payload) => {
    const beside = operation.type === 'status' ? { status: 'READ' } : {}
    const client = await clientAnswered({ success: true, data: [{ success: true, data, ...beside }] })
    const [result] = await client.send([operation])
    expect(result).toEqual({ ok: true, type: operation.type, data: payload })
  })

  test("a status may name the gateway's own identifier", async () => {
    const data = { id: 'gw-77', status: 'DELIVERED' }
    const client = await clientAnswered({ success: true, data: [{ success: true, data }] })
    expect(await client.status({ id: 1 })).toEqual(data)
  })

  test('fails as executed if it is no list of templates, without printing the payload', async () => {
    const data = { code: 42 }
    const client = await clientAnswered({ success: true, data: [{ success: true, data }] })
    const [result] = await client.send([{ type: 'template/list' }])
    expect(result!.ok || result!.error).toMatchObject({
      name: 'UnreadablePayloadError',
      code: 'PAYLOAD_UNREADABLE',
      definite: false,
      retryable: false,
    })
    const { error } = result as unknown as { error: UnreadablePayloadError }
    expect(error.payload()).toEqual(data)
    expect(JSON.stringify(error)).not.toContain('42')
  })

  test('does not fail if it is sender, which may have any payload', async () => {
    for (const data of [undefined, null, 'x', 5, [1], { a: 1 }]) {
      const client = await clientAnswered({ success: true, data: [{ success: true, data }] })
      expect(await client.sender()).toEqual(data)
    }
  })

  test.each([
    [undefined, {}],
    [null, {}],
    ['31.17', { value: '31.17' }],
    [[1], { value: [1] }],
    [{ a: 1 }, { a: 1 }],
  ])('does not fail if it is balance, which may have any payload: %j', async (data, payload) => {
    const client = await clientAnswered({ success: true, data: [{ success: true, data }] })
    expect(await client.balance()).toEqual(payload)
  })
})

describe('the error of an invalid option names it', () => {
  test.each<[keyof GatewayClientOptions, unknown]>([
    ['url', undefined],
    ['url', 'gateway.example'],
    ['url', 'ftp://gateway.example'],
    ['url', 'https://me:pw@gateway.example'],
    ['url', 'https://gateway.example/?key=secret'],
    ['url', 'https://gateway.example?'],
    ['url', 'https://gateway.example/#part'],
    ['asyncUrl', '/v1/json'],
    ['asyncUrl', 'https://me@gateway.example/v1/json'],
    ['apiKey', undefined],
    ['apiKey', ''],
    ['apiKey', {}],
    ['timeoutMs', 0],
    ['timeoutMs', 2 ** 31],
    ['connections', 1.5],
    ['retries', -1],
    ['maxResponseBytes', '1000'],
  ])('%s: %j', (name, value) => {
    const options = { url: 'https://gateway.example', apiKey: 'key', [name]: value } as GatewayClientOptions
    expect(() => new GatewayClient(options)).toThrow(new RegExp(`^GatewayClient: ${name} must be `))
    expect(() => new GatewayClient(options)).toThrow(TypeError)
  })
})
