import { expect, test } from 'vitest'
import { callbackBody } from '../../src/protocol/index.ts'
import { until } from '../support/bus.ts'
import { ManualClock } from '../support/clock.ts'
import { callbackReceiver, calledBack, operation, post, postOne, sandboxFor } from './support.ts'

test('a delivered message is called back at its hook', async () => {
  const { received, items, stats } = await calledBack(url => [
    operation('sms', { id: 2n ** 60n, hook: `${url}/hooks/abc` }),
  ])
  expect(received).toEqual([
    {
      url: '/hooks/abc',
      body: {
        success: true,
        id: String(2n ** 60n),
        msg_id: String(items[0]!.data.msg_id),
        type: 'sms',
        status: 'DELIVERED',
        updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    },
  ])
  expect(callbackBody.safeParse(received[0]?.body)).toMatchObject({ success: true })
  expect(stats.callbacks).toEqual({ sent: 1, accepted: 1, failed: 0, pending: 0 })
})

test.for([
  ['89', { success: true, status: 'READ' }],
  ['93', { success: false, status: 'UNDELIVERABLE' }],
  ['94', { success: false, status: 'EXPIRED' }],
  ['95', { success: false, status: 'REJECTED', error: 'Rejected by the operator' }],
] as const)('a phone that ends in %s is called back with its own status', async ([ending, body]) => {
  const { received } = await calledBack(hook => [operation('viber', { phone: Number(`3806700000${ending}`), hook })])
  expect(received).toMatchObject([{ body }])
})

test.for([
  ['96 never', '96', 0],
  ['97 twice', '97', 2],
] as const)('a phone that ends in %s is called back the right number of times', async ([, ending, times]) => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  const sent = operation('sms', { phone: Number(`3806700000${ending}`), hook: receiver.url })
  await postOne(sandbox, sent)
  expect(await postOne(sandbox, { type: 'status', id: sent.id })).toMatchObject({ data: { status: 'DELIVERED' } })
  await sandbox.drained()
  await sandbox.close()
  expect(receiver.received).toHaveLength(times)
})

test('both callbacks of a phone that ends in 97 are equal, including the time of the final state', async () => {
  const receiver = await callbackReceiver()
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, callbackDelayMs: 1000, callbackConcurrency: 1 })
  await postOne(sandbox, operation('sms', { phone: 380670000097, hook: receiver.url }))
  await clock.pass(3000)
  await until(() => expect(receiver.received).toHaveLength(2))
  expect(receiver.received[1]).toEqual(receiver.received[0])
  expect(receiver.received[0]!.body.updated).toBe(new Date(clock.now() - 2000).toISOString())
})

test.for([
  [{ drop: 1 }, 0, 0],
  [{ late: 1, lateMs: 5000 }, 0, 1],
  [{ repeat: 1 }, 2, 2],
] as const)(
  'with callbackTrouble %o, %i callbacks arrive in time, and %i in total',
  async ([trouble, inTime, inAll]) => {
    const receiver = await callbackReceiver()
    const clock = new ManualClock()
    const sandbox = await sandboxFor({ clock, callbackTrouble: trouble })
    await postOne(sandbox, operation('sms', { hook: receiver.url }))
    await clock.pass(4999)
    expect(sandbox.stats().callbacks.sent).toBe(inTime)
    await clock.pass(1)
    expect(sandbox.stats().callbacks.sent).toBe(inAll)
  },
)

test('a Viber message to a phone that ends in 88 has a reply, in its callback and in its status', async () => {
  const { received } = await calledBack(hook => [operation('viber', { phone: 380670000088, hook })])
  const replies = [
    { datetime: expect.any(String), message: 'Yes' },
    {
      datetime: expect.any(String),
      media: { url: expect.any(String), filename: expect.any(String), filesize: expect.any(Number) },
    },
  ]
  expect(received).toMatchObject([{ body: { success: true, type: 'viber', status: 'REPLIED', replies } }])
})

test('a phone that ends in 99 is called back before its operation is answered', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ callbackDelayMs: 60_000 })
  await postOne(sandbox, operation('sms', { phone: 380670000099, hook: receiver.url }))
  expect(receiver.received).toMatchObject([{ body: { status: 'DELIVERED' } }])
})

test('a callback is retried until it is answered 200', async () => {
  const retry = { callbackRetry: { tries: 5, firstDelayMs: 1 }, statuses: [503, 404] }
  const { received, stats } = await calledBack(hook => [operation('sms', { hook })], retry)
  expect(received).toHaveLength(3)
  expect(new Set(received.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect(stats.callbacks).toEqual({ sent: 3, accepted: 1, failed: 0, pending: 0 })
})

test('a callback is given up after its last retry', async () => {
  const retry = { callbackRetry: { tries: 3, firstDelayMs: 1 }, statuses: [500, 500, 500, 500] }
  const { received, stats } = await calledBack(hook => [operation('sms', { hook })], retry)
  expect(received).toHaveLength(3)
  expect(stats.callbacks).toEqual({ sent: 3, accepted: 0, failed: 1, pending: 0 })
})

test('a callback to an unreachable address is given up after its last retry', async () => {
  const retry = { callbackRetry: { tries: 2, firstDelayMs: 1 } }
  const { stats } = await calledBack(() => [operation('sms', { hook: 'http://127.0.0.1:1/hook' })], retry)
  expect(stats.callbacks).toMatchObject({ sent: 2, failed: 1 })
})

test('the back-off between the retries of a callback doubles', async () => {
  const receiver = await callbackReceiver([500, 500, 500])
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, callbackRetry: { tries: 5, firstDelayMs: 200 } })
  await postOne(sandbox, operation('sms', { hook: receiver.url }))
  for (const [tries, pause] of [
    [1, 0],
    [2, 200],
    [3, 400],
    [4, 800],
  ] as const) {
    await until(() => expect(clock.pending).toBe(1))
    await clock.pass(pause - 1)
    expect(receiver.received).toHaveLength(tries - 1)
    await clock.pass(1)
    await until(() => expect(receiver.received).toHaveLength(tries))
    await until(() => expect(sandbox.stats().callbacks.sent).toBe(tries))
  }
})

test("a pipeline is called back at its account's address, not at its hook", async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({
    keys: { shop: 'one', bank: 'two' },
    accountCallbackUrl: { shop: `${receiver.url}/shop` },
  })
  const sent = operation('pipeline', { hook: `${receiver.url}/hook` })
  await postOne(sandbox, sent, 'one')
  await postOne(sandbox, sent, 'two')
  await sandbox.drained()
  await sandbox.close()
  expect(receiver.received).toMatchObject([{ url: '/shop', body: { id: String(sent.id), type: 'viber' } }])
})

test('the third digit from the end of the phone chooses the channel of a chain', async () => {
  const phones = [380670000000, 380670000100, 380670000200, 380670000300]
  const { received } = await calledBack(hook => phones.map(phone => operation('rcs+viber+sms', { phone, hook })), {
    callbackConcurrency: 1,
  })
  expect(received.map(({ body }) => body.type)).toEqual(['rcs', 'viber', 'sms', 'rcs'])
})

test('a voice call reports its duration and the pressed digit', async () => {
  const { received } = await calledBack(hook => [operation('voice', { hook, dtmf: true })])
  expect(received[0]?.body).toMatchObject({
    type: 'voice',
    duration: expect.any(Number),
    reply: expect.stringMatching(/^\d$/),
  })
})

test.each([
  ['itself', { gender: 'female', language: 'uk-UA', name: 'A' }],
  ['a nested voice', { message: 'Hi', voice: { gender: 'female', language: 'uk-UA', name: 'A' } }],
])('a pipeline with dtmf in its voice stage, the model in %s, reports the digit', async (_, voice) => {
  const asking = (dtmf: boolean) => operation('pipeline', { pipeline: ['voice'], voice: { ...voice, dtmf } })
  const { received } = await calledBack(() => [true, false].map(asking), {}, '')
  const replies = received.map(({ body }) => body.reply)
  expect(replies.sort()).toEqual([expect.stringMatching(/^\d$/), undefined])
})

test("a voice call is called back at its account's address if voiceHook is false", async () => {
  const { received } = await calledBack(
    hook => [operation('voice', { hook })],
    { open: { voiceHook: 'dropped' } },
    '/account',
  )
  expect(received).toMatchObject([{ url: '/account' }])
})

test('a Telegram password is called back without a type, because the specification has none', async () => {
  const { received } = await calledBack(hook => [operation('telegram', { hook })])
  expect(received[0]?.body).not.toHaveProperty('type')
})

test('call/otp and hlr are not called back', async () => {
  const { received } = await calledBack(hook => [operation('call/otp', { hook }), operation('hlr', { hook })], {}, '')
  expect(received).toEqual([])
})

test('closing the sandbox drops pending callbacks', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ callbackDelayMs: 60_000 })
  await post(sandbox, [operation('sms', { hook: receiver.url })])
  await sandbox.close()
  expect(receiver.received).toEqual([])
  expect(sandbox.stats().callbacks).toMatchObject({ sent: 0, pending: 1 })
})

test('closing the sandbox aborts a callback in flight, which is not retried', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock })
  await post(sandbox, [operation('sms', { hook: `${sandbox.url}/api/json.php` })])
  sandbox.faults.next('stall')
  await clock.pass(0)
  await until(() => expect(sandbox.stats().requests).toBe(2))
  await sandbox.close()
  await clock.pass(60_000)
  expect(sandbox.stats().callbacks).toEqual({ sent: 1, accepted: 0, failed: 0, pending: 1 })
})
