import { expect, test, vi } from 'vitest'
import { ManualClock } from '../support/clock.ts'
import { operation, post, postOne, sandboxFor } from './support.ts'

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

test("identifiers are echoed as strings with open: { ids: 'string' }", async () => {
  const sandbox = await sandboxFor({ open: { ids: 'string' } })
  const { data } = await postOne(sandbox, operation('sms', { id: 2n ** 63n - 1n }))
  expect(data).toMatchObject({ id: '9223372036854775807', msg_id: expect.stringMatching(/^\d+$/) })
})

test.for([
  ['71 Cyrillic letters', 'я'.repeat(71), 2],
  ['161 Latin letters', 'a'.repeat(161), 2],
] as const)('%s take two SMS parts', async ([, text, parts]) => {
  const sandbox = await sandboxFor()
  const item = await postOne(sandbox, operation('sms', { sms_message: text }))
  expect(item.data.parts).toBe(parts)
})

test('an answer takes latencyMs', async () => {
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

test('the outcome of a message depends only on its own identifier and phone', async () => {
  const otp = operation('call/otp')
  const hlr = operation('hlr', { phone: 380501234567 })
  const { data } = await post(await sandboxFor(), [operation('sms'), otp, hlr])
  const again = await post(await sandboxFor(), [hlr, operation('sms'), otp])
  expect([again.data[2], again.data[0]]).toEqual(data.slice(1))
})
