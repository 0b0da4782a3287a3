import { expect, test } from 'vitest'
import { callbackBody } from '../../src/protocol/index.ts'
import { until } from '../support/bus.ts'
import { callbackReceiver, manualClock, operation, post, postOne, sandboxFor } from './support.ts'

test('a delivered message is called back at its hook', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  const item = await postOne(sandbox, operation('sms', { id: 2n ** 60n, hook: `${receiver.url}/hooks/abc` }))
  await sandbox.close('drain')
  expect(receiver.received).toEqual([
    {
      url: '/hooks/abc',
      body: {
        success: true,
        id: String(2n ** 60n),
        msg_id: String(item.data.msg_id),
        type: 'sms',
        status: 'DELIVERED',
        updated: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      },
    },
  ])
  expect(callbackBody.safeParse(receiver.received[0]?.body)).toMatchObject({ success: true })
  expect(sandbox.stats().callbacks).toEqual({ sent: 1, accepted: 1, failed: 0, pending: 0 })
})

test.for([
  ['89', { success: true, status: 'READ' }],
  ['93', { success: false, status: 'UNDELIVERABLE' }],
  ['94', { success: false, status: 'EXPIRED' }],
  ['95', { success: false, status: 'REJECTED', error: 'Rejected by the operator' }],
] as const)('a phone that ends in %s is called back with its own status', async ([ending, body]) => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  await postOne(sandbox, operation('viber', { phone: Number(`3806700000${ending}`), hook: receiver.url }))
  await sandbox.close('drain')
  expect(receiver.received).toMatchObject([{ body }])
})

test.for([
  ['96 never', '96', 0],
  ['97 twice', '97', 2],
] as const)('a phone that ends in %s is called back', async ([, ending, times]) => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  const sent = operation('sms', { phone: Number(`3806700000${ending}`), hook: receiver.url })
  await postOne(sandbox, sent)
  expect(await postOne(sandbox, { type: 'status', id: sent.id })).toMatchObject({ data: { status: 'DELIVERED' } })
  await sandbox.close('drain')
  expect(receiver.received).toHaveLength(times)
})

test('both callbacks of a phone that ends in 97 say the same, the instant of the final state included', async () => {
  const receiver = await callbackReceiver()
  const clock = manualClock()
  const sandbox = await sandboxFor({ clock, callbackDelayMs: 1000, callbackConcurrency: 1 })
  await postOne(sandbox, operation('sms', { phone: 380670000097, hook: receiver.url }))
  clock.advance(3000)
  await until(() => expect(receiver.received).toHaveLength(2))
  expect(receiver.received[1]).toEqual(receiver.received[0])
  expect(receiver.received[0]!.body.updated).toBe(new Date(clock.now() - 2000).toISOString())
})

test('a Viber message to a phone that ends in 88 is answered, in the callback and in its status', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  const sent = operation('viber', { phone: 380670000088, hook: receiver.url })
  await postOne(sandbox, sent)
  await sandbox.close('drain')
  const replies = [
    { datetime: expect.any(String), message: 'Yes' },
    {
      datetime: expect.any(String),
      media: { url: expect.any(String), filename: expect.any(String), filesize: expect.any(Number) },
    },
  ]
  expect(receiver.received).toMatchObject([{ body: { success: true, type: 'viber', status: 'REPLIED', replies } }])
})

test('a phone that ends in 99 is called back before its operation is answered', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ callbackDelayMs: 60_000 })
  await postOne(sandbox, operation('sms', { phone: 380670000099, hook: receiver.url }))
  expect(receiver.received).toMatchObject([{ body: { status: 'DELIVERED' } }])
})

test('a callback that is not answered 200 is sent again until it is', async () => {
  const receiver = await callbackReceiver([503, 404])
  const sandbox = await sandboxFor({ callbackRetry: { tries: 5, firstDelayMs: 1 } })
  await postOne(sandbox, operation('sms', { hook: receiver.url }))
  await sandbox.close('drain')
  expect(receiver.received).toHaveLength(3)
  expect(new Set(receiver.received.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect(sandbox.stats().callbacks).toEqual({ sent: 3, accepted: 1, failed: 0, pending: 0 })
})

test('a callback is given up after its last try', async () => {
  const receiver = await callbackReceiver([500, 500, 500, 500])
  const sandbox = await sandboxFor({ callbackRetry: { tries: 3, firstDelayMs: 1 } })
  await postOne(sandbox, operation('sms', { hook: receiver.url }))
  await sandbox.close('drain')
  expect(receiver.received).toHaveLength(3)
  expect(sandbox.stats().callbacks).toEqual({ sent: 3, accepted: 0, failed: 1, pending: 0 })
})

test('a callback to an address that cannot be reached is given up as well', async () => {
  const sandbox = await sandboxFor({ callbackRetry: { tries: 2, firstDelayMs: 1 } })
  await postOne(sandbox, operation('sms', { hook: 'http://127.0.0.1:1/hook' }))
  await sandbox.close('drain')
  expect(sandbox.stats().callbacks).toMatchObject({ sent: 2, failed: 1 })
})

test('the pauses between the tries double', async () => {
  const receiver = await callbackReceiver([500, 500, 500])
  const clock = manualClock()
  const sandbox = await sandboxFor({ clock, callbackRetry: { tries: 5, firstDelayMs: 200 } })
  await postOne(sandbox, operation('sms', { hook: receiver.url }))
  for (const [tries, pause] of [
    [1, 0],
    [2, 200],
    [3, 400],
    [4, 800],
  ] as const) {
    await until(() => expect(clock.waiting()).toBe(1))
    clock.advance(pause - 1)
    expect(receiver.received).toHaveLength(tries - 1)
    clock.advance(1)
    await until(() => expect(receiver.received).toHaveLength(tries))
    await until(() => expect(sandbox.stats().callbacks.sent).toBe(tries))
  }
})

test('a pipeline is called back at the address of its account and not at its hook', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({
    keys: { shop: 'one', bank: 'two' },
    accountCallbackUrl: { shop: `${receiver.url}/shop` },
  })
  const sent = operation('pipeline', { hook: `${receiver.url}/hook` })
  await postOne(sandbox, sent, 'one')
  await postOne(sandbox, sent, 'two')
  await sandbox.close('drain')
  expect(receiver.received).toMatchObject([{ url: '/shop', body: { id: String(sent.id), type: 'viber' } }])
})

test('the account address can be set once the receiver is known', async () => {
  const sandbox = await sandboxFor()
  const receiver = await callbackReceiver()
  sandbox.setAccountCallbackUrl(receiver.url)
  await postOne(sandbox, operation('pipeline'))
  await sandbox.close('drain')
  expect(receiver.received).toHaveLength(1)
})

test('the third digit from the end of the phone chooses the channel of a chain', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ callbackConcurrency: 1 })
  for (const phone of [380670000000, 380670000100, 380670000200, 380670000300])
    await postOne(sandbox, operation('rcs+viber+sms', { phone, hook: receiver.url }))
  await sandbox.close('drain')
  expect(receiver.received.map(({ body }) => body.type)).toEqual(['rcs', 'viber', 'sms', 'rcs'])
})

test('a voice call tells its duration and the digit that was pressed', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  await post(sandbox, [operation('voice', { hook: receiver.url, dtmf: true })])
  await sandbox.close('drain')
  expect(receiver.received[0]?.body).toMatchObject({
    type: 'voice',
    duration: expect.any(Number),
    reply: expect.stringMatching(/^\d$/),
  })
})

test.each([
  ['itself', { gender: 'female', language: 'uk-UA', name: 'A' }],
  ['a nested voice', { message: 'Hi', voice: { gender: 'female', language: 'uk-UA', name: 'A' } }],
])('a pipeline that asks for a digit in its voice stage, with the model in %s, tells the digit', async (_, voice) => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ accountCallbackUrl: receiver.url })
  for (const dtmf of [true, false]) {
    await postOne(sandbox, operation('pipeline', { pipeline: ['voice'], voice: { ...voice, dtmf } }))
  }
  await sandbox.close('drain')
  const replies = receiver.received.map(({ body }) => body.reply)
  expect(replies.sort()).toEqual([expect.stringMatching(/^\d$/), undefined])
})

test('a voice call is called back at the account address when its hook is not kept', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ voiceHook: false, accountCallbackUrl: `${receiver.url}/account` })
  await post(sandbox, [operation('voice', { hook: receiver.url })])
  await sandbox.close('drain')
  expect(receiver.received).toMatchObject([{ url: '/account' }])
})

test('a one-time password by Telegram is called back without a type, for the specification has none for it', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor()
  await post(sandbox, [operation('telegram', { hook: receiver.url })])
  await sandbox.close('drain')
  expect(receiver.received[0]?.body).not.toHaveProperty('type')
})

test('call/otp and hlr are not called back', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ accountCallbackUrl: receiver.url })
  await post(sandbox, [operation('call/otp', { hook: receiver.url }), operation('hlr', { hook: receiver.url })])
  await sandbox.close('drain')
  expect(receiver.received).toEqual([])
})

test('closing drops the callbacks that are still due', async () => {
  const receiver = await callbackReceiver()
  const sandbox = await sandboxFor({ callbackDelayMs: 60_000 })
  await post(sandbox, [operation('sms', { hook: receiver.url })])
  await sandbox.close()
  expect(receiver.received).toEqual([])
  expect(sandbox.stats().callbacks).toMatchObject({ sent: 0, pending: 1 })
})

test('closing ends a callback in flight, and it is not tried again', async () => {
  const clock = manualClock()
  const sandbox = await sandboxFor({ clock })
  await post(sandbox, [operation('sms', { hook: `${sandbox.url}/api/json.php` })])
  sandbox.faults.next('stall')
  clock.advance(0)
  await until(() => expect(sandbox.stats().requests).toBe(2))
  await sandbox.close()
  clock.advance(60_000)
  expect(sandbox.stats().callbacks).toEqual({ sent: 1, accepted: 0, failed: 0, pending: 1 })
})
