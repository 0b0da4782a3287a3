import { describe, expect, test } from 'vitest'
import { type GatewayClient, ValidationError } from '../../src/gateway/index.ts'
import { type OperationType, operations, operationTypes, parseJson, sendTypes } from '../../src/protocol/index.ts'
import { postOne, sandboxFor } from '../sandbox/support.ts'
import { clientFor, failureOf } from '../support/client.ts'
import { examples } from '../support/examples.ts'
import { buildOperation } from '../support/operations.ts'
import { startProxy } from '../support/reverse-proxy.ts'

/** The client's method for each operation. */
const methods: { [T in OperationType]: (client: GatewayClient) => (fields: never) => Promise<unknown> } = {
  balance: client => client.balance,
  'call/otp': client => client.callOtp,
  hlr: client => client.hlr,
  pipeline: client => client.pipeline,
  rcs: client => client.rcs,
  'rcs+sms': client => client.rcsSms,
  'rcs+viber+sms': client => client.rcsViberSms,
  sender: client => client.sender,
  sms: client => client.sms,
  status: client => client.status,
  telegram: client => client.telegram,
  'template/create': client => client.templates.create,
  'template/delete': client => client.templates.delete,
  'template/list': client => client.templates.list,
  'template/viber/create': client => client.viberTemplates.create,
  'template/viber/delete': client => client.viberTemplates.delete,
  'template/viber/list': client => client.viberTemplates.list,
  viber: client => client.viber,
  'viber+sms': client => client.viberSms,
  voice: client => client.voice,
}

function call(client: GatewayClient, operation: Record<string, unknown>): Promise<unknown> {
  const { type, ...fields } = operation
  return methods[type as OperationType](client)(fields as never)
}

/** Starts a sandbox to which the message of a status request was sent before. */
async function gateway(operation: Record<string, unknown>) {
  const sandbox = await sandboxFor()
  if (operation.type === 'status') await postOne(sandbox, buildOperation('sms', { id: operation.id }))
  return sandbox
}

describe.each(operationTypes)('%s', type => {
  const { good, bad } = examples[type]

  test.each(Object.entries({ 'its usual fields': {}, ...good }))(
    'with %s is sent, executed and answered',
    async (_, change) => {
      const operation = buildOperation(type, change)
      const sandbox = await gateway(operation)
      const before = sandbox.stats().executed
      const payload = await call(clientFor(sandbox.url, { allowEmpty: true }), operation)
      expect(operations[type].payload.safeParse(payload)).toEqual({ success: true, data: payload })
      expect(sandbox.stats().executed - before).toBe(sendTypes.some(sent => sent === type) ? 1 : 0)
    },
  )

  test.each(Object.entries(bad))(
    'with %s is refused by the client before it is sent, and by the gateway',
    async (_, example) => {
      const [field, change] = example
      const operation = buildOperation(type, change)
      const sandbox = await gateway(operation)
      const { requests, executed } = sandbox.stats()
      const error = await failureOf(call(clientFor(sandbox.url), operation))
      expect(error).toBeInstanceOf(ValidationError)
      expect(error).toMatchObject({ code: 'VALIDATION', index: 0, field, definite: true, retryable: false })
      expect(sandbox.stats().requests).toBe(requests)

      expect(await postOne(sandbox, operation)).toMatchObject({ success: false })
      expect(sandbox.stats().executed).toBe(executed)
    },
  )
})

test.each([
  ['sms_message', { sms_message: 'Готово \ud83d' }],
  ['campaign.name', { campaign: { name: '\ude00' } }],
])('half an emoji in %s is refused before it is sent', async (field, change) => {
  const sandbox = await sandboxFor()
  const operation = buildOperation('sms', change)
  expect(await failureOf(call(clientFor(sandbox.url), operation))).toMatchObject({
    code: 'VALIDATION',
    field,
    message: expect.stringContaining(`${field} holds half of a surrogate pair`),
  })
  expect(sandbox.stats().requests).toBe(0)
})

test('every operation may carry additional properties', async () => {
  const sandbox = await sandboxFor()
  const proxy = await startProxy(sandbox.url)
  const list = operationTypes.map((type, i) => buildOperation(type, { ...idOf(type, i), campaign: { spring: [1] } }))
  const results = await clientFor(proxy.url).send(list)
  expect(parseJson(proxy.requests[0]!.body)).toEqual({ auth: 'sandbox-key', data: list })
  expect(results.map(result => result.ok)).toEqual(list.map(({ type }) => type !== 'status'))
})

/** A unique id for messages; templates keep theirs. */
const idOf = (type: OperationType, i: number) => ('phone' in buildOperation(type) ? { id: 1 + i } : {})

test('an envelope without an operation is refused before it is sent', async () => {
  const sandbox = await sandboxFor()
  expect(await failureOf(clientFor(sandbox.url).send([]))).toMatchObject({
    name: 'ValidationError',
    message: 'operation 0: at least one operation is required',
  })
  expect(sandbox.stats().requests).toBe(0)
})

test('a message without content is refused before it is sent, unless allowEmpty is set', async () => {
  const sandbox = await sandboxFor()
  const empty = { id: 1, phone: 380501234567, sms_message: '', sms_signature: 'Shop' }
  await expect(clientFor(sandbox.url).sms(empty)).rejects.toMatchObject({
    code: 'VALIDATION',
    message:
      'operation 0: sms_message is required: there is nothing to send without it (allowEmpty sends it all the same)',
  })
  expect(sandbox.stats().requests).toBe(0)
  expect(await clientFor(sandbox.url, { allowEmpty: true }).sms(empty)).toMatchObject({ id: 1 })
})
