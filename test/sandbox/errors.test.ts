import { request } from 'undici'
import { expect, test } from 'vitest'
import { operation, post, postOne, postText, sandboxFor } from './support.ts'

const json = { 'content-type': 'application/json' }
const sms = { type: 'sms', id: 7, phone: 380670000000, sms_message: 'Hello', sms_signature: 'Shop' }
const valid = JSON.stringify({ auth: 'sandbox-key', data: [sms] })

test.for([
  ['a wrong key', JSON.stringify({ auth: 'other', data: [sms] }), json, 'Access denied'],
  ['a wrong content type', valid, { 'content-type': 'text/plain' }, /Content-Type/],
  ['broken JSON', valid.slice(0, -2), json, /not JSON/],
  ['JSON that is not an object', 'null', json, /data/],
  ['no operation', JSON.stringify({ auth: 'sandbox-key', data: [] }), json, /data/],
  ['no data', JSON.stringify({ auth: 'sandbox-key' }), json, /data/],
  ['no key', JSON.stringify({ data: [sms] }), json, /auth/],
] as const)(
  'an envelope with %s is refused with HTTP 200 and nothing is executed',
  async ([, body, headers, error]) => {
    const sandbox = await sandboxFor()
    const { status, text } = await postText(sandbox, body, headers)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toEqual({ success: false, error: expect.stringMatching(error) })
    expect(sandbox.stats()).toMatchObject({ requests: 1, executed: 0 })
  },
)

test('a content type with a character set is accepted', async () => {
  const sandbox = await sandboxFor()
  const { text } = await postText(sandbox, valid, { 'content-type': 'application/json; charset=utf-8' })
  expect(JSON.parse(text).success).toBe(true)
})

test('an envelope with more operations than allowed is refused', async () => {
  const sandbox = await sandboxFor({ maxOperations: 2 })
  expect(await post(sandbox, [operation('sms'), operation('sms')])).toMatchObject({ success: true })
  expect(await post(sandbox, [operation('sms'), operation('sms'), operation('sms')])).toEqual({
    success: false,
    error: 'Invalid request: too many operations',
  })
})

test.for([
  ['whatsapp as its type', { type: 'whatsapp' }, 'Invalid message type'],
  ['an unknown type', { type: 'fax' }, 'Invalid message type'],
  ['no phone', { phone: undefined }, 'Please enter valid receiver phone number'],
  ['a phone as text', { phone: '380670000000' }, 'Please enter valid receiver phone number'],
  ['no text', { sms_message: undefined }, 'Please enter SMS text'],
  ['no sender name', { sms_signature: undefined }, 'Error in sms_signature'],
  ['a lifetime below its bound', { sms_lifetime: 60 }, 'Error in sms_lifetime'],
] as const)('an operation with %s is refused, and its item has only the id', async ([, change, error]) => {
  const sandbox = await sandboxFor()
  expect(await postOne(sandbox, { ...sms, ...change })).toEqual({ success: false, error, data: { id: 7 } })
  expect(sandbox.executions(7)).toBe(0)
})

test('a refused operation does not affect the others in its envelope', async () => {
  const sandbox = await sandboxFor()
  const { success, data } = await post(sandbox, [operation('sms'), null, { type: 'sms', id: 'x' }, operation('sms')])
  expect(success).toBe(true)
  expect(data.map(item => item.success)).toEqual([true, false, false, true])
  expect(data[1]).toEqual({ success: false, error: 'Invalid message type', data: {} })
  expect(data[2]?.data).toEqual({ id: 'x' })
})

test.for([
  ['sms', 90, 'Error in Alpha-name'],
  ['call/otp', 91, 'Operator not supported'],
  ['viber', 92, 'Not enough money'],
  ['telegram', 98, 'THROTTLE'],
] as const)('%s to a phone that ends in %d is refused: %s', async ([type, ending, error]) => {
  const sandbox = await sandboxFor()
  const sent = operation(type, { phone: 380670000000 + ending })
  expect(await postOne(sandbox, sent)).toEqual({ success: false, error, data: { id: sent.id } })
  expect(sandbox.stats().executed).toBe(0)
})

test("a phone with another type's ending is delivered", async () => {
  const sandbox = await sandboxFor()
  expect(await postOne(sandbox, operation('hlr', { phone: 380670000090 }))).toMatchObject({ success: true })
  expect(await postOne(sandbox, operation('sms', { phone: 380670000091 }))).toMatchObject({ success: true })
})

test('a phone that ends in 98 is delivered when the same identifier is sent again', async () => {
  const sandbox = await sandboxFor()
  const sent = operation('sms', { phone: 380670000098 })
  expect(await postOne(sandbox, sent)).toMatchObject({ error: 'THROTTLE' })
  expect(await postOne(sandbox, sent)).toMatchObject({ success: true })
})

test('an unsupported operator can refuse the whole envelope', async () => {
  const sandbox = await sandboxFor({ open: { otpRefusal: 'envelope' } })
  const data = [operation('sms'), operation('call/otp', { phone: 380670000091 })]
  expect(await post(sandbox, data)).toEqual({ success: false, error: 'Operator not supported' })
  expect(sandbox.stats().executed).toBe(0)
})

test('a GET of the endpoint is refused with an envelope, any other path with 404', async () => {
  const sandbox = await sandboxFor()
  const endpoint = await request(`${sandbox.url}/api/json.php`)
  expect(endpoint.statusCode).toBe(200)
  expect(await endpoint.body.json()).toMatchObject({ success: false })
  const elsewhere = await request(`${sandbox.url}/api`, { method: 'POST', headers: json, body: valid })
  expect(elsewhere.statusCode).toBe(404)
  await elsewhere.body.dump()
})

test('a new key replaces the old one and the account keeps its counts', async () => {
  const sandbox = await sandboxFor({ keys: ['first'] })
  expect(await post(sandbox, [sms], 'first')).toMatchObject({ success: true })
  sandbox.setKeys(['first', 'second'])
  expect(await post(sandbox, [sms], 'second')).toMatchObject({ success: true })
  sandbox.setKeys(['second'])
  expect(await post(sandbox, [sms], 'first')).toEqual({ success: false, error: 'Access denied' })
  expect(sandbox.executions(7)).toBe(2)
})

test('a port in use is an error at start', async () => {
  const sandbox = await sandboxFor()
  await expect(sandboxFor({ port: sandbox.port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
