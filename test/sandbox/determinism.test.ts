import { expect, test } from 'vitest'
import { ManualClock } from '../support/clock.ts'
import { callbackReceiver, operation, post, sandboxFor } from './support.ts'

const sent = [
  operation('sms', { id: 1 }),
  operation('call/otp', { id: 2 }),
  operation('hlr', { id: 3, phone: 380501234567 }),
  operation('sms', { id: 4, phone: 380501234593 }),
]

async function answersOf(seed: number | string, operations = sent) {
  return (await post(await sandboxFor({ seed }), operations)).data
}

test('the same seed gives the same answers', async () => {
  expect(await answersOf('a')).toEqual(await answersOf('a'))
})

test('another seed gives other codes and message identifiers', async () => {
  const [sms, otp] = await answersOf('a')
  const [otherSms, otherOtp] = await answersOf('b')
  expect(otherSms?.data.msg_id).not.toBe(sms?.data.msg_id)
  expect(otherOtp?.data.code).not.toBe(otp?.data.code)
})

test('what a message meets follows from its own identifier and phone, not from its neighbours', async () => {
  const [, otp, hlr] = await answersOf('a')
  const alone = await answersOf('a', [operation('sms'), sent[2]!, sent[1]!])
  expect(alone[1]).toEqual(hlr)
  expect(alone[2]).toEqual(otp)
})

test('the delays of callbacks follow from the seed', async () => {
  const run = async () => {
    const clock = new ManualClock()
    const receiver = await callbackReceiver()
    const sandbox = await sandboxFor({ clock, callbackDelayMs: { min: 100, max: 1000 } })
    await post(
      sandbox,
      [1, 2, 3].map(id => operation('sms', { id, hook: receiver.url })),
    )
    const due = []
    for (let at = 0; at < 1000; at += 10) {
      await clock.pass(10)
      due.push(sandbox.stats().callbacks.sent)
    }
    return due
  }
  const first = await run()
  expect(first[9]).toBe(0)
  expect(first.at(-1)).toBe(3)
  expect(await run()).toEqual(first)
})
