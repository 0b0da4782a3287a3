import { beforeEach, expect, test, vi } from 'vitest'
import { Traffic } from '../../src/ui/traffic.ts'
import { VerdictCounter } from '../../src/ui/verdicts.ts'

const delivered = { type: 'viber', state: 'DELIVERED', status: 'DELIVERED', verified: true }
const forged = { ...delivered, verified: false }
const hooked = { type: 'viber+sms', unhooked: false }
const unhooked = { type: 'pipeline', unhooked: true }
const read = { ...delivered, status: 'READ' }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  return () => vi.useRealTimers()
})

function build() {
  const traffic = new Traffic()
  const counted = () => traffic.counts('verdict').map(({ labels: [type], count }) => `${type} ${count}`)
  return { verdicts: new VerdictCounter(traffic), counted }
}

test.each([
  ['after its result', ['sent', 'told']],
  ['before its result', ['told', 'sent']],
  ['twice, around its result', ['told', 'told', 'sent', 'told']],
])('a verdict that is told %s counts once, by the type of the message', (_, steps) => {
  const { verdicts, counted } = build()
  for (const step of steps) {
    if (step === 'sent') verdicts.sent('default/1', hooked)
    else verdicts.told('default/1', delivered)
  }
  verdicts.told('default/1', read)
  vi.advanceTimersByTime(60_000)
  verdicts.countEarly()
  expect(counted()).toEqual(['viber+sms 1'])
})

test('of a message that was sent before, the channel counts, and not that it was read as well', () => {
  const { verdicts, counted } = build()
  verdicts.told('default/1', delivered)
  verdicts.told('default/2', read)
  verdicts.countEarly()
  expect(counted()).toEqual([])
  vi.advanceTimersByTime(11_000)
  verdicts.countEarly()
  expect(counted()).toEqual(['viber 1'])
})

test.each([
  ['after', ['sent', 'forged', 'told']],
  ['before', ['forged', 'sent', 'told']],
])('what the address of an account is told %s the result is no verdict of a message that had its own', (_, steps) => {
  const { verdicts, counted } = build()
  for (const step of steps) {
    if (step === 'sent') verdicts.sent('default/1', hooked)
    else verdicts.told('default/1', step === 'forged' ? forged : { ...delivered, state: 'FAILED' })
    if (step !== 'told') expect(counted()).toEqual([])
  }
  expect(counted()).toEqual(['viber+sms 1'])
})

test.each([
  ['sent', 'forged'],
  ['forged', 'sent'],
])('of a message that had no address of its own it is, %s first', (...steps) => {
  const { verdicts, counted } = build()
  for (const step of steps) {
    if (step === 'sent') verdicts.sent('default/1', unhooked)
    else verdicts.told('default/1', forged)
  }
  expect(counted()).toEqual(['pipeline 1'])
})

test('what it is told of messages of which nothing is known counts for nothing, and pushes out no others', () => {
  const { verdicts, counted } = build()
  verdicts.told('default/1', delivered)
  for (let i = 2; i < 30_000; i++) verdicts.told(`default/${i}`, forged)
  verdicts.sent('default/1', hooked)
  vi.advanceTimersByTime(60_000)
  verdicts.countEarly()
  expect(counted()).toEqual(['viber+sms 1'])
})
