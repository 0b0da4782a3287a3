import { describe, expect, test } from 'vitest'
import {
  type OperationType,
  operations,
  operationTypes,
  parseJson,
  requiredFields,
  stringifyJson,
} from '../../src/protocol/index.ts'
import type { FaultName } from '../../src/sandbox/index.ts'
import { postOne, sandboxFor } from '../sandbox/support.ts'
import { busgateHere, type CliOptions, startBusgate } from '../support/cli.ts'
import { keyFile } from '../support/key-file.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

const key = 'sandbox-key'
const settings = (url: string) => ({ BUSGATE_GATEWAY_URL: url, BUSGATE_GATEWAY_API_KEY: key })

const gateway = (url: string, args: string[], { input = '', env = {} }: Pick<CliOptions, 'input' | 'env'> = {}) =>
  busgateHere(['gateway', ...args], { input, env: { ...settings(url), ...env } })

const sms = (id: number | string, phone = 380501234567) =>
  `{"type":"sms","id":${id},"phone":${phone},"sms_message":"Hi","sms_signature":"Shop"}`

test.each([
  ['balance', '{}', '{"amount":"31.16 UAH"}', 'raw:\n  amount: 31.16 UAH\n'],
  ['balance', '{}', '{"main":1,"bonus":2}', 'main: 1\nbonus: 2\n'],
  ['balance', '{}', '"1 234,50"', 'value: 1 234,50\n'],
  ['status', '{"id":1}', '{"id":"gw-1","status":{"code":3}}', 'id: gw-1\nraw:\n  status:\n    code: 3\n'],
  [
    'call/otp',
    '{"id":1,"phone":380501234567}',
    '{"code":"0042","price":"0,50"}',
    'code: "0042"\nraw:\n  price: 0,50\n',
  ],
])('busgate gateway %s %s prints what it cannot convert of %s', async (type, fields, data, printed) => {
  const proxy = await startProxy()
  proxy.answer = () => ({ body: `{"success":true,"data":[{"success":true,"data":${data}}]}` })
  const { code, stdout } = await gateway(proxy.url, type === 'balance' ? [type] : [type, fields])
  expect({ code, stdout }).toEqual({ code: 0, stdout: printed })
})

// Four types suffice here: the tests of the client cover the fields and answers of all.
test.each(['sms', 'voice', 'status', 'template/list'] as const)(
  'busgate gateway %s sends the given JSON and prints the answer',
  async type => {
    const sandbox = await sandboxFor()
    const proxy = await startProxy(sandbox.url)
    if (type === 'status') await postOne(sandbox, buildOperation('sms'))
    const operation = buildOperation(type, type === 'voice' ? { dtmf: true } : {})
    const { type: _, ...fields } = operation
    const { code, stdout, stderr } = await gateway(proxy.url, [type, '--json', stringifyJson(fields)])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(proxy.requests.map(({ body }) => parseJson(body))).toEqual([{ auth: key, data: [operation] }])
    const { data, ...rest } = JSON.parse(stdout)
    expect(rest).toEqual({ type, ok: true, ...('id' in operation && { id: String(operation.id) }) })
    expect(operations[type].payload.safeParse(data).success).toBe(true)
  },
)

describe('an answer printed without --json', () => {
  test('has a line for each field', async () => {
    const sandbox = await sandboxFor({ balance: 31 })
    const { stdout } = await gateway(sandbox.url, ['balance'])
    expect(stdout).toBe('amount: 31\ncurrency: UAH\n')
  })

  test('has an item for each element of a list, with control characters escaped', async () => {
    const sandbox = await sandboxFor()
    await postOne(sandbox, { type: 'template/create', template: 'Hello\n\x1b[2J', name: 'greeting' })
    const { stdout } = await gateway(sandbox.url, ['template/list'])
    expect(stdout).toMatch(/^- id: \d+\n {2}name: greeting\n {2}template: /)
    expect(stdout).not.toContain('\x1b')
  })
})

describe('standard input', () => {
  test('may be an object without a type: the named operation gives it', async () => {
    const sandbox = await sandboxFor()
    const { code, stdout, stderr } = await gateway(sandbox.url, ['status'], { input: '{"id":7}' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(
      'Message not found (REJECTED); perhaps the message was never sent, or the gateway has forgotten it: this proves neither',
    )
    expect(sandbox.stats()).toMatchObject({ requests: 1, operations: 1 })
  })

  test.each([42n, 2n ** 53n + 1n, 2n ** 63n - 1n])('and standard output keep the id %s, in JSON as text', async id => {
    const sandbox = await sandboxFor()
    const { code, stdout } = await gateway(sandbox.url, ['sms', '--json'], { input: sms(String(id)) })
    expect(code).toBe(0)
    expect(parseJson(stdout)).toMatchObject({
      type: 'sms',
      id: String(id),
      ok: true,
      data: { id: String(id), msg_id: expect.stringMatching(/^\d+$/), parts: 1 },
    })
    expect(sandbox.executions(id)).toBe(1)
  })

  test('may be refused by the gateway; --json prints the refusal as JSON', async () => {
    const sandbox = await sandboxFor()
    const { code, stdout } = await gateway(sandbox.url, ['sms', '--json'], { input: sms(3, 380501234592) })
    expect(code).toBe(1)
    const error = { code: 'INSUFFICIENT_FUNDS', message: 'Not enough money', definite: true, retryable: false }
    expect(JSON.parse(stdout)).toEqual({ type: 'sms', id: '3', ok: false, error })
  })
})

describe('input with an error exits 2, names the error, and sends nothing:', () => {
  test.each([
    ['an unknown operation', ['balanse'], '', 'the nearest is "gateway balance"'],
    ['neither fields nor input', ['sms'], '', 'gateway sms needs id, phone, sms_message, sms_signature, as JSON'],
    ['no operation', [], '', 'gateway needs an OPERATION: busgate gateway --help lists them'],
    ['a missing field', ['hlr', '{"id":1}'], '', 'phone is required and must be a number'],
    ['a field of the wrong type', ['status', '{"id":"x"}'], '', 'id must be a whole number from 1 to'],
    [
      'a phone in national format',
      ['hlr', '{"id":1,"phone":"0671234561"}'],
      '',
      'phone must be a number: digits only, international format such as 380501234567',
    ],
    [
      'a text beyond its limits',
      ['telegram', '{"id":1,"phone":380501234567,"message":"123"}'],
      '',
      'must be text of 4 to 8 digits',
    ],
    [
      'invalid JSON as argument',
      ['viber', '{secret'],
      '',
      "JSON: not valid: Expected property name or '}' in JSON at position 1",
    ],
    ['an unknown account', ['balance', '--account', 'defualt'], '', 'the nearest is default'],
    [
      'invalid JSON on standard input',
      ['sms'],
      '{"secret',
      'standard input is not valid JSON: Unterminated string in JSON at position 8',
    ],
    ['a list instead of an object', ['sms'], '[5]', 'expected a JSON object'],
    ['an object without a required field', ['hlr'], '{"id":2}', 'phone is required'],
    [
      'text in windows-1251',
      ['sms'],
      Buffer.concat([Buffer.from(sms(1).slice(0, -2)), Buffer.from([0xcf, 0xf0]), Buffer.from('"}')]),
      'standard input is not UTF-8: save it as UTF-8',
    ],
  ])('%s', async (_, args, input, message) => {
    const sandbox = await sandboxFor()
    const { code, stdout, stderr } = await gateway(sandbox.url, args, { input })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('secret')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(sandbox.stats().requests).toBe(0)
  })

  test('settings without the gateway', async () => {
    const { code, stderr } = await busgateHere(['gateway', 'balance'])
    expect(code).toBe(2)
    expect(stderr).toContain('gateway.url (BUSGATE_GATEWAY_URL): is not set')
    expect(stderr).toContain('gateway.apiKey (BUSGATE_GATEWAY_API_KEY): is not set')
  })
})

describe('a failed operation exits 1 and says whether it was sent:', () => {
  test.each<[FaultName, string]>([
    [
      'access-denied',
      "Access denied (ACCESS_DENIED); not sent; put the account's key into gateway.apiKey (BUSGATE_GATEWAY_API_KEY)",
    ],
    ['throttle', 'THROTTLE (THROTTLED); not sent'],
    ['http-429', 'HTTP 429 (THROTTLED); not sent'],
    ['envelope-refused', 'Service unavailable (REJECTED); not sent'],
    ['reset-after', '(RESPONSE_LOST); perhaps sent: find out before you retry'],
    ['http-502-executed', 'HTTP 502 (RESPONSE_LOST); perhaps sent: find out before you retry'],
  ])('%s', async (fault, message) => {
    const sandbox = await sandboxFor()
    sandbox.faults.next(fault)
    const { code, stdout, stderr } = await gateway(sandbox.url, ['sms'], { input: sms(1) })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^busgate: [^\n]+\n$/)
    expect(stderr).toContain(message)
    expect(sandbox.stats().requests).toBe(1)
  })

  test('a refused key from a file, with the setting of the file', async () => {
    const sandbox = await sandboxFor()
    const env = { BUSGATE_GATEWAY_URL: sandbox.url, BUSGATE_GATEWAY_API_KEY_FILE: await keyFile('mistyped') }
    const { code, stderr } = await busgateHere(['gateway', 'balance'], { env })
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /put the account's key into the file of gateway\.apiKeyFile \(BUSGATE_GATEWAY_API_KEY_FILE\)\n$/,
    )
  })

  test('an unreachable gateway', async () => {
    const { code, stdout, stderr } = await gateway('http://127.0.0.1:1', ['sms', '--json'], { input: sms(1) })
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^busgate: connect ECONNREFUSED 127\.0\.0\.1:1 \(UNREACHABLE\); not sent; check gateway\.url \(BUSGATE_GATEWAY_URL\)\n$/,
    )
    expect(JSON.parse(stdout)).toMatchObject({ id: '1', error: { code: 'UNREACHABLE', retryable: true } })
  })

  test('an invalid answer, which is printed unchanged', async () => {
    const proxy = await startProxy()
    proxy.answer = () => ({ body: '{"success":true,"data":[{"success":true,"data":{"templates":[]}}]}' })
    const { code, stdout, stderr } = await gateway(proxy.url, ['template/list'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'templates: []\n' })
    expect(stderr).toBe(
      'busgate: executed, but the answer is invalid: the value must be a list of templates (PAYLOAD_UNREADABLE)\n',
    )
  })

  test('an interruption, which exits 130', async () => {
    const sandbox = await sandboxFor()
    sandbox.faults.next('stall')
    const running = startBusgate(['gateway', 'sms'], { input: sms(1), env: settings(sandbox.url) })
    await expect.poll(() => sandbox.stats().executed, { timeout: 60_000 }).toBe(1)
    running.signal('SIGINT')
    const { code, stderr } = await running.ended
    expect(code).toBe(130)
    expect(stderr).toBe('busgate: aborted by the caller (ABORTED); perhaps sent: find out before you retry\n')
  })
})

test('busgate gateway --account chooses the key', async () => {
  const sandbox = await sandboxFor({ keys: { default: key, shop: 'shop-key' } })
  const env = { BUSGATE_GATEWAY_ACCOUNTS_SHOP_API_KEY: 'shop-key' }
  const { code } = await gateway(sandbox.url, ['sms', '--account', 'shop'], { input: sms(1), env })
  expect(code).toBe(0)
  expect(sandbox.executions(1, 'shop')).toBe(1)
  expect(sandbox.executions(1)).toBe(0)
})

describe('busgate gateway --help', () => {
  test('lists every operation with the fields that it requires', async () => {
    const { code, stdout } = await busgateHere(['gateway', '--help'])
    expect(code).toBe(0)
    const rows = stdout.split('\n').map(line => line.trim().split(/ +/))
    for (const type of operationTypes) {
      expect(rows).toContainEqual([type, ...requiredFields(type)])
    }
  })

  test.each<[OperationType, RegExp[]]>([
    [
      'sms',
      [
        /id: Required\. The caller's own .* a whole number/,
        /sms_lifetime: How long .* 3600 to 259200\./,
        /sms_message: Required\. Text of the SMS\.$/m,
        /--account/,
      ],
    ],
    ['pipeline', [/pipeline: Required\. The channels, .* a list/, /^ {2}voice: /m]],
    ['template/create', [/template: Required\. Text of the template\.$/m, /^ {2}name: /m]],
  ])('for %s lists its fields', async (type, expected) => {
    const { code, stdout } = await busgateHere(['gateway', type, '--help'])
    expect(code).toBe(0)
    for (const line of expected) expect(stdout).toMatch(line)
  })
})
