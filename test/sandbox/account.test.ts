import { expect, test } from 'vitest'
import { operation, post, postOne, sandboxFor } from './support.ts'

test('the balance decreases by the price of each part and call', async () => {
  const sandbox = await sandboxFor({ balance: 10 })
  await post(sandbox, [operation('sms', { sms_message: 'я'.repeat(71) }), operation('call/otp')])
  expect(await postOne(sandbox, { type: 'balance' })).toEqual({
    success: true,
    data: { amount: 6.5, currency: 'UAH' },
  })
})

test('an operation that the balance does not cover is refused', async () => {
  const sandbox = await sandboxFor({ balance: 1 })
  const { data } = await post(sandbox, [operation('sms'), operation('sms')])
  expect(data.map(item => item.error)).toEqual([undefined, 'Not enough money'])
})

test('status returns the replies to a two-way Viber message', async () => {
  const sandbox = await sandboxFor()
  await postOne(sandbox, operation('viber', { id: 42, phone: 380670000088 }))
  const { data } = await postOne(sandbox, { type: 'status', id: 42 })
  expect(data).toMatchObject({ status: 'REPLIED', replies: [{ message: 'Yes' }, { media: { filesize: 20_480 } }] })
})

test('status returns the state of a known identifier, and an error for an unknown one', async () => {
  const sandbox = await sandboxFor()
  await postOne(sandbox, operation('sms', { id: 2n ** 60n, phone: 380670000093 }))
  expect(await postOne(sandbox, { type: 'status', id: 2n ** 60n })).toEqual({
    success: true,
    data: { id: 2n ** 60n, type: 'sms', status: 'UNDELIVERABLE' },
  })
  expect(await postOne(sandbox, { type: 'status', id: 43 })).toEqual({
    success: false,
    error: 'Message not found',
    data: { id: 43 },
  })
})

test.each(['call/otp', 'hlr'] as const)('a %s has no status', async type => {
  const sandbox = await sandboxFor()
  await postOne(sandbox, operation(type, { id: 42 }))
  expect(await postOne(sandbox, { type: 'status', id: 42 })).toMatchObject({ error: 'Message not found' })
})

test('the status of a message is ACCEPTED until its callback is due', async () => {
  const sandbox = await sandboxFor({ callbackDelayMs: 60_000 })
  await postOne(sandbox, operation('sms', { id: 42 }))
  const { data } = await postOne(sandbox, { type: 'status', id: 42 })
  expect(data.status).toBe('ACCEPTED')
})

test('an identifier is known to its own account only', async () => {
  const sandbox = await sandboxFor({ keys: { shop: 'one', bank: ['two', 'three'] } })
  await postOne(sandbox, operation('sms', { id: 42 }), 'two')
  expect(await postOne(sandbox, { type: 'status', id: 42 }, 'three')).toMatchObject({ success: true })
  expect(await postOne(sandbox, { type: 'status', id: 42 }, 'one')).toMatchObject({ success: false })
  expect(sandbox.executions(42, 'bank')).toBe(1)
  expect(sandbox.executions(42, 'shop')).toBe(0)
})

test('SMS templates are created, listed and deleted', async () => {
  const sandbox = await sandboxFor()
  const created = await postOne(sandbox, { type: 'template/create', template: 'Код: %d', name: 'otp' })
  expect(created.data).toEqual({ id: 1, name: 'otp', template: 'Код: %d', count: '7 / 1' })
  const listed = await postOne(sandbox, { type: 'template/list' })
  const datetime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*\+00:00$/)
  expect(listed.data).toEqual([{ id: 1, name: 'otp', template: 'Код: %d', count: '7 / 1', datetime }])
  expect(await postOne(sandbox, { type: 'template/delete' })).toMatchObject({ data: { deleted: 0 } })
  expect(await postOne(sandbox, { type: 'template/delete', id: '1' })).toMatchObject({ data: { deleted: 1 } })
  expect(await postOne(sandbox, { type: 'template/list' })).toMatchObject({ data: [] })
})

test('Viber templates are created, listed and deleted by their exact text', async () => {
  const sandbox = await sandboxFor()
  const created = await postOne(sandbox, { type: 'template/viber/create', template: 'Hi', signature: 'Shop' })
  expect(created.data).toEqual({ id: 1, status: 'MODERATION' })
  await postOne(sandbox, { type: 'template/viber/create', template: 'Hi there' })
  expect(await postOne(sandbox, { type: 'template/viber/list' })).toMatchObject({
    data: { templates: [{ id: 1, template: 'Hi', signature: 'Shop', status: 'MODERATION' }, { id: 2 }] },
  })
  const deleted = await postOne(sandbox, { type: 'template/viber/delete', template: 'Hi' })
  expect(deleted.data).toEqual({ deleted: 1 })
})
