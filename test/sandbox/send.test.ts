import { expect, test, vi } from 'vitest'
import { sendTypes } from '../../src/protocol/index.ts'
import { ManualClock } from '../support/clock.ts'
import { operation, post, postOne, postText, sandboxFor } from './support.ts'

const messages = sendTypes.filter(type => type !== 'call/otp' && type !== 'hlr')

test.for(messages)('%s is answered with its id, a message identifier and its parts', async type => {
  const sandbox = await sandboxFor()
  const sent = operation(type)
  const item = await postOne(sandbox, sent)
  expect(item).toEqual({ success: true, data: { id: sent.id, msg_id: expect.any(Number), parts: 1, data: 0 } })
  expect(sandbox.executions(sent.id as number)).toBe(1)
})

test('call/otp answers four digits as text and a price', async () => {
  const sandbox = await sandboxFor()
  const { data } = await post(
    sandbox,
    Array.from({ length: 100 }, () => operation('call/otp')),
  )
  const codes = data.map(item => item.data.code)
  for (const code of codes) expect(code).toMatch(/^\d{4}$/)
  expect(codes.some(code => String(code).startsWith('0'))).toBe(true)
  expect(data[0]?.data).toEqual({ code: expect.any(String), price: 1.5 })
})

test('hlr answers the number, its operator and its porting', async () => {
  const sandbox = await sandboxFor()
  const item = await postOne(sandbox, operation('hlr', { phone: 380501234567 }))
  const network = { name: expect.any(String), prefix: expect.any(Number), country: { name: 'Ukraine', prefix: 380 } }
  expect(item.data).toEqual({
    phone: 380501234567,
    status: 'DELIVERED',
    imsi: expect.any(Number),
    mccmnc: expect.any(Number),
    ported: expect.any(Boolean),
    network: { origin: network, ported: network },
  })
})

test('several operations are answered one by one in their order', async () => {
  const sandbox = await sandboxFor()
  const sent = [operation('sms'), operation('viber'), operation('telegram')]
  const { success, data } = await post(sandbox, sent)
  expect(success).toBe(true)
  expect(data.map(item => item.data.id)).toEqual(sent.map(({ id }) => id))
  expect(new Set(data.map(item => item.data.msg_id)).size).toBe(3)
})

test('identifiers are echoed as strings when the sandbox is told so', async () => {
  const sandbox = await sandboxFor({ echoIds: 'string' })
  const { text } = await postText(sandbox, envelope('9223372036854775807'))
  expect(text).toMatch(/"data":\{"id":"9223372036854775807","msg_id":"\d+",/)
})

test('a pipeline without an identifier is sent', async () => {
  const sandbox = await sandboxFor()
  const { id: _, ...sent } = operation('pipeline')
  const item = await postOne(sandbox, sent)
  expect(item).toEqual({ success: true, data: { msg_id: expect.any(Number), parts: 1, data: 0 } })
  expect(sandbox.stats()).toMatchObject({ executed: 1, ids: 0 })
})

test.for([
  ['70 Cyrillic letters', 'я'.repeat(70), 1],
  ['71 Cyrillic letters', 'я'.repeat(71), 2],
  ['135 Cyrillic letters', 'я'.repeat(135), 3],
  ['160 Latin letters', 'a'.repeat(160), 1],
  ['161 Latin letters', 'a'.repeat(161), 2],
  ['159 Latin letters and a euro sign, which counts twice', `€${'a'.repeat(159)}`, 2],
] as const)('%s fill their SMS parts', async ([, text, parts]) => {
  const sandbox = await sandboxFor()
  const item = await postOne(sandbox, operation('sms', { sms_message: text }))
  expect(item.data.parts).toBe(parts)
})

test('the answer takes the latency it was given', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ latencyMs: 30, clock })
  let isAnswered = false
  const answer = postOne(sandbox, operation('sms')).then(() => {
    isAnswered = true
  })
  await vi.waitFor(() => expect(clock.pending).toBe(1))
  await clock.pass(29)
  expect(isAnswered).toBe(false)
  await clock.pass(1)
  await answer
})

function envelope(id: string): string {
  const sms = `{"type":"sms","id":${id},"phone":380670000000,"sms_message":"Hi","sms_signature":"Shop"}`
  return `{"auth":"sandbox-key","data":[${sms}]}`
}
