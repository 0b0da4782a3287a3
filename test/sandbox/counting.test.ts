import { request } from 'undici'
import { expect, test } from 'vitest'
import { ManualClock } from '../support/clock.ts'
import { operation, post, postOne, postText, sandboxFor } from './support.ts'

test('an identifier that is sent twice is executed, billed and counted twice', async () => {
  const sandbox = await sandboxFor({ balance: 10 })
  const sent = operation('sms', { id: 42 })
  const first = await postOne(sandbox, sent)
  const second = await postOne(sandbox, sent)
  expect(second.success).toBe(true)
  expect(second.data.msg_id).not.toBe(first.data.msg_id)
  expect(sandbox.executions(42)).toBe(2)
  expect(sandbox.executions(42n)).toBe(2)
  expect(sandbox.stats()).toMatchObject({ requests: 2, operations: 2, executed: 2, ids: 1, billedTwice: 1 })
  expect(await postOne(sandbox, { type: 'balance' })).toMatchObject({ data: { amount: 8 } })
})

test("an identifier that is sent twice is refused with open: { duplicates: 'refuse' }", async () => {
  const sandbox = await sandboxFor({ open: { duplicates: 'refuse' } })
  const sent = operation('sms', { id: 42 })
  await postOne(sandbox, sent)
  expect(await postOne(sandbox, sent)).toEqual({ success: false, error: 'DUPLICATE', data: { id: 42 } })
  expect(sandbox.stats()).toMatchObject({ executed: 1, billedTwice: 0 })
})

test('two accounts may use the same identifier', async () => {
  const sandbox = await sandboxFor({ keys: { shop: 'one', bank: 'two' }, open: { duplicates: 'refuse' } })
  const sent = operation('sms', { id: 42 })
  expect(await postOne(sandbox, sent, 'one')).toMatchObject({ success: true })
  expect(await postOne(sandbox, sent, 'two')).toMatchObject({ success: true })
  expect(sandbox.stats()).toMatchObject({
    executed: 2,
    ids: 2,
    billedTwice: 0,
    accounts: { shop: { executed: 1 }, bank: { executed: 1 } },
  })
})

test('account operations are counted but not billed', async () => {
  const sandbox = await sandboxFor()
  await post(sandbox, [{ type: 'balance' }, { type: 'sender' }, { type: 'status', id: 1 }])
  expect(sandbox.stats()).toMatchObject({ operations: 3, executed: 0, ids: 0 })
})

test('operations above the rate are refused with THROTTLE until the second has passed', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, rate: 3 })
  const five = () => Array.from({ length: 5 }, () => operation('sms'))
  const errors = async () => (await post(sandbox, five())).data.map(item => item.error)
  expect(await errors()).toEqual([undefined, undefined, undefined, 'THROTTLE', 'THROTTLE'])
  await clock.pass(500)
  expect(await errors()).toEqual(Array(5).fill('THROTTLE'))
  await clock.pass(500)
  expect(await errors()).toEqual([undefined, undefined, undefined, 'THROTTLE', 'THROTTLE'])
})

test('each account has its own rate', async () => {
  const sandbox = await sandboxFor({ clock: new ManualClock(), rate: 1, keys: { shop: 'one', bank: 'two' } })
  expect(await postOne(sandbox, operation('sms'), 'one')).toMatchObject({ success: true })
  expect(await postOne(sandbox, operation('sms'), 'two')).toMatchObject({ success: true })
  expect(await postOne(sandbox, operation('sms'), 'two')).toMatchObject({ error: 'THROTTLE' })
})

test('the peak rate is counted over any second, not only full clock seconds', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock })
  const send = (count: number) =>
    post(
      sandbox,
      Array.from({ length: count }, () => operation('sms')),
    )
  await clock.pass(900)
  await send(3)
  await clock.pass(200)
  await send(4)
  await clock.pass(900)
  await send(2)
  expect(sandbox.stats().maxOperationsInAnySecond).toBe(7)
})

test('counts and the latest requests are shown over HTTP, without keys', async () => {
  const sandbox = await sandboxFor({ keys: ['secret-key'] })
  await post(sandbox, [operation('sms'), operation('sms', { phone: 380670000092 })], 'secret-key')
  await post(sandbox, [operation('sms')], 'wrong-key')
  await postText(sandbox, 'nonsense')
  const stats = await (await request(`${sandbox.url}/_stats`)).body.json()
  expect(stats).toEqual(sandbox.stats())
  expect(stats).toMatchObject({ requests: 3, operations: 2, executed: 1 })
  const log = await (await request(`${sandbox.url}/_log`)).body.text()
  expect(JSON.parse(log)).toMatchObject([
    { account: 'default', operations: 2, refused: 1, error: null, fault: null },
    { account: null, operations: 0, error: 'Access denied' },
    { account: null, operations: 0, error: 'Invalid request: the body is not JSON' },
  ])
  expect(log).not.toMatch(/secret-key|wrong-key|38067|parcel|Shop/)
})

test('thousands of identifiers, even beyond 2^53, are counted separately', async () => {
  const sandbox = await sandboxFor()
  const ids = Array.from({ length: 5000 }, (_, i) => (i % 10 === 0 ? 2n ** 62n + BigInt(i) : 2 ** 40 + i * 4096))
  for (const part of [ids, ids.slice(0, 2000), ids.slice(0, 10)])
    await post(
      sandbox,
      part.map(id => operation('sms', { id })),
    )
  expect(sandbox.stats()).toMatchObject({ executed: 7010, ids: 5000, billedTwice: 2000 })
  const counts = ids.map(id => sandbox.executions(id))
  expect(counts).toEqual(ids.map((_, i) => (i < 10 ? 3 : i < 2000 ? 2 : 1)))
  expect(sandbox.executions(2 ** 40 + 1)).toBe(0)
})
