import { describe, expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/answer.ts'
import { refusal } from '../support/answers.ts'
import { type Operation, sentAll, startSendingWorld } from '../support/sending-world.ts'

const second = 1000
const minute = 60 * second
const down = 'Service temporarily unavailable, try later'

/** A gateway that refuses everything while `down`, and envelopes with one of the `bad` ids at any time. */
function gateway({ bad = [] as readonly number[] } = {}) {
  const executed = new Map<number, number>()
  const one = {
    down: false,
    executed,
    answer(operations: Operation[]): Answer {
      if (one.down) return refusal(down)
      if (operations.some(({ id }) => bad.includes(id))) return refusal('Cannot be processed')
      const sends = operations.filter(({ type }) => type !== 'status' && type !== 'balance')
      for (const { id } of sends) executed.set(id, (executed.get(id) ?? 0) + 1)
      return sentAll(operations)
    },
  }
  return one
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

/** How many results have each outcome. */
function tallyOf(results: readonly { outcome: string }[]): Record<string, number> {
  const groups = Object.groupBy(results, ({ outcome }) => outcome)
  return Object.fromEntries(Object.entries(groups).map(([outcome, all]) => [outcome, all!.length]))
}

describe('a gateway that refuses every envelope for ten minutes, with a text that nobody knows', () => {
  test('has no command REJECTED: they wait, one probes, and afterwards each is sent once', async () => {
    const one = gateway()
    const world = await startSendingWorld({ answer: one.answer, partitions: 4 })
    one.down = true
    for (const id of upTo(3000)) world.send(id)
    await world.clock.pass(10 * minute)
    expect(world.results()).toEqual([])
    expect(world.sending.reasons()).toEqual(['account default pauses: refused'])
    expect(world.gauge('breaker_state')).toBeGreaterThan(0)
    const probes = world.posts.filter(({ at }) => at > minute)
    expect(probes.map(({ operations }) => operations.length)).toEqual(probes.map(() => 1))
    expect(probes.length).toBeLessThan(9 * 4)
    expect(new Set(probes.flatMap(({ operations }) => operations.map(({ id }) => id))).size).toBe(probes.length)
    expect(Math.max(...upTo(3000).map(world.postsOf))).toBeLessThanOrEqual(3)

    one.down = false
    await world.clock.pass(minute)
    expect(tallyOf(world.results())).toEqual({ SENT: 3000 })
    expect(world.results().every(({ attempts }) => attempts === 1)).toBe(true)
    expect([one.executed.size, Math.max(...one.executed.values())]).toEqual([3000, 1])
    expect(world.sending.reasons()).toEqual([])
  })

  test('has not the only command of an account REJECTED: what it may ask at any time is refused too', async () => {
    const one = gateway()
    const world = await startSendingWorld({ answer: one.answer })
    one.down = true
    world.send(1)
    await world.clock.pass(10 * minute)
    expect(world.results()).toEqual([])
    expect(world.sending.reasons()).toEqual(['account default pauses: refused'])
    expect(world.postsOf(1)).toBe(1)
    expect(world.posts.length).toBeLessThan(10 * 4)
    one.down = false
    await world.clock.pass(minute)
    expect(world.results()).toMatchObject([{ outcome: 'SENT', attempts: 1 }])
  })

  test('leaves a command in doubt that is sent again in doubt, and its attempts as they are', async () => {
    const one = gateway()
    const world = await startSendingWorld({
      answer: operations =>
        operations.some(({ type }) => type === 'status') ? refusal('Kaput') : one.answer(operations),
      settings: { delivery: { attempts: 2, pollIntervalMs: 100 } },
    })
    world.doubted(1, {}, { message: { 'io.busgate.CallOtp': { comment: null } }, delivery: 'AT_LEAST_ONCE' })
    one.down = true
    await world.clock.pass(10 * minute)
    expect(world.results()).toEqual([])
    expect([world.postsOf(1), world.gauge('doubts_open')]).toEqual([1, 1])
    one.down = false
    await world.clock.pass(minute)
    expect(world.results()).toMatchObject([{ outcome: 'SENT', attempts: 2 }])
    expect(world.gauge('doubts_open')).toBe(0)
  })
})

describe('a gateway that refuses commands but answers questions, with a text that nobody knows', () => {
  test('has none REJECTED while others wait that were not refused yet', async () => {
    const one = gateway()
    const world = await startSendingWorld({
      answer: operations => (operations[0]!.type === 'balance' ? sentAll(operations) : one.answer(operations)),
    })
    one.down = true
    for (const id of upTo(500)) world.send(id)
    await world.clock.pass(10 * minute)
    expect(world.results()).toEqual([])
    one.down = false
    await world.clock.pass(minute)
    expect(tallyOf(world.results())).toEqual({ SENT: 500 })
  })
})

describe('a command that makes the gateway refuse its envelope', () => {
  test('alone on its account is REJECTED in seconds: the gateway answers a question, and refuses the command each time', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.send(1)
    await world.clock.pass(5 * second)
    expect(world.results()).toMatchObject([
      { id: 1n, outcome: 'REJECTED', errorCode: 'REJECTED', error: 'Cannot be processed', attempts: 1 },
    ])
    const types = world.posts.map(({ operations }) => operations.map(({ type }) => type).join())
    expect(types).toEqual(['sms', 'balance', 'sms', 'balance', 'sms', 'balance', 'sms'])
    expect(world.sending.reasons()).toEqual([])
    world.send(2)
    await world.clock.pass(second)
    expect(world.results()).toMatchObject([{ id: 1n }, { id: 2n, outcome: 'SENT' }])
  })

  test('is REJECTED as soon as it is refused again after another one passed', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.send(1)
    await world.clock.pass(100)
    world.send(2)
    await world.clock.pass(2 * second)
    expect(world.results()).toMatchObject([
      { id: 2n, outcome: 'SENT' },
      { id: 1n, outcome: 'REJECTED' },
    ])
    expect(world.postsOf(1)).toBe(2)
  })

  test('does not hold up the less urgent topics', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.send(1, {}, world.settings.topics.commands[0])
    for (const id of upTo(200)) {
      world.send(1000 + id)
      await world.clock.pass(10)
    }
    await world.clock.pass(100)
    expect(world.sending.reasons()).toEqual([])
    expect(tallyOf(world.results())).toEqual({ SENT: 200, REJECTED: 1 })
  })

  test('is found among others, also when every tenth is one', async () => {
    const bad = upTo(1000).filter(id => id % 10 === 0)
    const one = gateway({ bad })
    const world = await startSendingWorld({ answer: one.answer, partitions: 2 })
    for (const id of upTo(1000)) world.send(id)
    await world.clock.pass(minute)
    expect(tallyOf(world.results())).toEqual({ SENT: 900, REJECTED: 100 })
    expect(Math.max(...one.executed.values())).toBe(1)
  })

  test('is UNRESOLVED when it was in doubt: that says nothing about the first request', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.doubted(1, {}, { message: { 'io.busgate.CallOtp': { comment: null } }, delivery: 'AT_LEAST_ONCE' })
    await world.clock.pass(3 * minute)
    expect(world.results()).toMatchObject([{ outcome: 'UNRESOLVED', errorCode: 'REJECTED', attempts: 2 }])
    expect(world.gauge('doubts_open')).toBe(0)
  })
})

test('a text that gateway.errorTexts knows refuses the commands themselves, though nothing passes', async () => {
  const one = gateway()
  const world = await startSendingWorld({
    answer: one.answer,
    settings: { gateway: { errorTexts: { [down]: 'VALIDATION' } } },
  })
  one.down = true
  for (const id of upTo(20)) world.send(id)
  await world.clock.pass(2 * second)
  expect(tallyOf(world.results())).toEqual({ REJECTED: 20 })
  expect(world.results()[0]).toMatchObject({ errorCode: 'VALIDATION', error: down })
})

test('commands that were refused during an outage expire at their deadline, and are not forgotten', async () => {
  const one = gateway()
  const world = await startSendingWorld({ answer: one.answer })
  one.down = true
  const deadline = world.clock.now() + 5 * second
  for (const id of upTo(5)) world.send(id, { deadline })
  await world.clock.pass(30 * minute)
  one.down = false
  await world.clock.pass(minute)
  expect(tallyOf(world.results())).toEqual({ EXPIRED: 5 })
  expect(world.gauge('window_used_ratio')).toBe(0)
})
