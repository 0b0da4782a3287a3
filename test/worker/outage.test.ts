import { describe, expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/connection.ts'
import { Random } from '../simulation/random.ts'
import { refusal } from '../support/answers.ts'
import { type Operation, startSendingWorld } from '../support/sending.ts'

const second = 1000
const minute = 60 * second
const call = { message: { 'io.busgate.CallOtp': { comment: null } } }
/** Settings that resolve doubts at once. */
const quickDoubts = { gateway: { timeoutMs: 100 }, doubts: { waitMs: 100, polls: 1 } }
const down = 'Service temporarily unavailable, try later'

/** A gateway that refuses everything while `down`, and envelopes with one of the `bad` ids at any time. */
function gateway({ bad = [] as readonly number[] } = {}) {
  const executed = new Map<number, number>()
  const one = {
    down: false,
    executed,
    answer(operations: Operation[]): Answer | null {
      if (one.down) return refusal(down)
      if (operations.some(({ id }) => bad.includes(id))) return refusal('Cannot be processed')
      const sends = operations.filter(({ type }) => type !== 'status' && type !== 'balance')
      for (const { id } of sends) executed.set(id, (executed.get(id) ?? 0) + 1)
      return null
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

describe('while a gateway refuses every envelope for ten minutes with an unknown text', () => {
  test('no command is REJECTED: all wait, single ones are probes, and afterwards each is sent once', async () => {
    const one = gateway()
    const world = await startSendingWorld({ answer: one.answer, partitions: 4 })
    one.down = true
    for (const id of upTo(3000)) world.send(id)
    await world.clock.pass(10 * minute)
    expect(world.results()).toEqual([])
    expect(world.sending.warnings()).toEqual([
      expect.stringMatching(
        /^account default has been held back since .*, because the gateway refuses whole envelopes/,
      ),
    ])
    expect(world.gauge('breaker_state')).toBeGreaterThan(0)
    const probes = world.posts.filter(({ at }) => at > minute)
    expect(probes.map(({ operations }) => operations.length)).toEqual(probes.map(() => 1))
    expect(probes.length).toBeLessThan(9 * 4)
    const probing = new Set(probes.flatMap(({ operations }) => operations.map(({ id }) => id)))
    expect(probing.size).toBeGreaterThan(probes.length / 2)
    expect(Math.max(...upTo(3000).map(world.postsOf))).toBeLessThanOrEqual(3)

    one.down = false
    await world.clock.pass(minute)
    expect(tallyOf(world.results())).toEqual({ SENT: 3000 })
    expect(world.results().every(({ attempts }) => attempts === 1)).toBe(true)
    expect([one.executed.size, Math.max(...one.executed.values())]).toEqual([3000, 1])
    expect([world.sending.reasons(), world.sending.warnings()]).toEqual([[], []])
  })
})

describe('while a gateway refuses commands with an unknown text, but answers balance and status', () => {
  const isQuery = ([first]: Operation[]) => first!.type === 'balance' || first!.type === 'status'
  async function startOutage(settings: object = {}) {
    const one = gateway()
    const world = await startSendingWorld({
      answer: operations => (isQuery(operations) ? null : one.answer(operations)),
      settings: { ...quickDoubts, ...settings },
    })
    one.down = true
    return { one, ...world }
  }

  test.each([1, 5, 500])('none of %i waiting commands is REJECTED', async count => {
    const { one, clock, send, results, sending } = await startOutage()
    for (const id of upTo(count)) send(id)
    await clock.pass(10 * minute)
    expect(results()).toEqual([])
    if (count > 1)
      expect(sending.warnings()).toEqual([
        expect.stringMatching(
          /^account default has been held back since .*, because the gateway refuses whole envelopes/,
        ),
      ])
    one.down = false
    await clock.pass(minute)
    expect(tallyOf(results())).toEqual({ SENT: count })
  })

  test('no command is REJECTED if they come one by one, and probes are not more frequent', async () => {
    const { one, clock, send, results, posts } = await startOutage()
    for (const id of upTo(60)) {
      send(id)
      await clock.pass(10 * second)
    }
    expect(results()).toEqual([])
    expect(posts.length).toBeLessThan(10 * 8)
    one.down = false
    await clock.pass(minute)
    expect(tallyOf(results())).toEqual({ SENT: 60 })
  })

  test('commands in doubt stay in doubt, and refused POSTs of them do not count as attempts', async () => {
    const { one, clock, doubted, results, gauge } = await startOutage({
      doubts: { ...quickDoubts.doubts, maxAttempts: 2 },
    })
    for (const id of upTo(5)) doubted(id, {}, { ...call, delivery: 'AT_LEAST_ONCE' })
    await clock.pass(10 * minute)
    expect([results(), gauge('doubts_open')]).toEqual([[], 5])
    one.down = false
    await clock.pass(minute)
    expect(results().map(({ outcome, attempts }) => `${outcome} ${attempts}`)).toEqual(Array(5).fill('SENT 2'))
    expect(gauge('doubts_open')).toBe(0)
  })
})

describe('while a gateway refuses requests at random with an unknown text', () => {
  /** The share of commands that are wrongly REJECTED: of those that come alone, and in tens. */
  async function rejectedShares(share: number) {
    const shares: number[] = []
    for (const together of [1, 10]) {
      const random = new Random(7)
      const world = await startSendingWorld({
        answer: () => (random.chance(share) ? refusal('Node is in maintenance') : null),
      })
      const count = 2000
      for (const id of upTo(count)) {
        world.send(id)
        if (id % together === 0) await world.clock.pass(200)
      }
      await world.clock.pass(10 * minute)
      const { SENT, REJECTED = 0 } = tallyOf(world.results())
      expect(SENT! + REJECTED).toBe(count)
      shares.push(REJECTED / count)
    }
    return shares
  }

  test('fewer than one command in a thousand is REJECTED if it refuses a fifth of them', async () => {
    expect(Math.max(...(await rejectedShares(0.2)))).toBeLessThan(0.001)
  })

  test('few commands are REJECTED if it refuses half of them, and hardly any that come with others', async () => {
    const [alone, inTens] = await rejectedShares(0.5)
    expect(alone).toBeLessThan(0.03)
    expect(inTens).toBeLessThan(0.003)
  })
})

describe('a command that makes the gateway refuse its envelope', () => {
  test('alone in its account waits until others pass, and delays none of them', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.send(1)
    await world.clock.pass(10 * minute)
    expect(world.results()).toEqual([])
    for (const id of [2, 3, 4, 5, 6]) {
      world.send(id)
      await world.clock.pass(100)
      expect(tallyOf(world.results())).toMatchObject({ SENT: id - 1 })
      await world.clock.pass(minute)
    }
    const refused = { id: 1n, outcome: 'REJECTED', errorCode: 'REJECTED', error: 'Cannot be processed', attempts: 1 }
    expect(world.results().at(-1)).toMatchObject(refused)
    expect(world.sending.reasons()).toEqual([])
  })

  test('refused alone during a rebalance is sent again after it', async () => {
    const { promise: joining, resolve: answer } = Promise.withResolvers<void>()
    let refused = false
    const world = await startSendingWorld({
      async answer() {
        if (refused) return null
        refused = true
        await joining
        return refusal('Cannot be processed')
      },
    })
    world.send(1)
    await world.clock.pass(100)
    world.clock.after(500, answer)
    await world.startAnother({ commands: [world.settings.topics.commands[0]!] })
    await world.clock.pass(minute)
    expect(tallyOf(world.results())).toEqual({ SENT: 1 })
  })

  test('is REJECTED within ten seconds while others pass, when it is refused alone for the sixth time', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.send(1)
    for (const id of upTo(100)) {
      await world.clock.pass(100)
      world.send(1000 + id)
    }
    await world.clock.pass(100)
    expect(tallyOf(world.results())).toEqual({ SENT: 100, REJECTED: 1 })
    const alone = world.posts.filter(({ operations }) => operations.length === 1 && operations[0]!.id === 1)
    expect(alone.length).toBeGreaterThanOrEqual(6)
    expect(alone.at(-1)!.at - alone[0]!.at).toBeLessThan(10 * second)
  })

  test('five times is not REJECTED by an outage that begins then, although others passed before it', async () => {
    const bad = [1]
    const one = gateway({ bad })
    const { clock, send, postsOf, results } = await startSendingWorld({ answer: one.answer })
    send(1)
    let id = 1
    const others = async (count: number) => {
      for (const last = id + count; id < last; await clock.pass(100)) send(++id)
    }
    await clock.pass(100) // it is refused alone from the first time on
    while (postsOf(1) < 5) await others(1)
    await others(1)
    one.down = true
    await others(3)
    await clock.pass(10 * minute)
    expect(postsOf(1)).toBeGreaterThan(5)
    bad.pop()
    one.down = false
    await clock.pass(minute)
    expect(tallyOf(results())).toEqual({ SENT: id })
  })

  test('does not delay less urgent topics', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer })
    world.send(1, {}, world.settings.topics.commands[0])
    for (const id of upTo(1000)) {
      world.send(1000 + id)
      await world.clock.pass(10)
      if (id % 100 === 0) expect(world.results().length).toBeGreaterThan(id - 10)
    }
    await world.clock.pass(100)
    expect(world.sending.reasons()).toEqual([])
    expect(tallyOf(world.results())).toEqual({ SENT: 1000, REJECTED: 1 })
  })

  test('is found among others, even if every tenth command is such a command', async () => {
    const bad = upTo(1000).filter(id => id % 10 === 0)
    const one = gateway({ bad })
    const world = await startSendingWorld({ answer: one.answer, partitions: 2 })
    for (const id of upTo(1000)) world.send(id)
    await world.clock.pass(minute)
    expect(tallyOf(world.results())).toMatchObject({ SENT: 900 })
    for (const id of upTo(60)) {
      world.send(2000 + id)
      await world.clock.pass(second)
    }
    expect(tallyOf(world.results())).toEqual({ SENT: 960, REJECTED: 100 })
    expect(Math.max(...one.executed.values())).toBe(1)
  })

  test('does not prolong an outage as its first probe, because probes take turns', async () => {
    const one = gateway({ bad: [1] })
    const world = await startSendingWorld({ answer: one.answer, partitions: 4 })
    one.down = true
    world.send(1, {}, world.settings.topics.commands[0])
    for (const id of upTo(5)) world.send(1 + id)
    await world.clock.pass(10 * minute)
    one.down = false
    await world.clock.pass(2 * 30 * second)
    expect(tallyOf(world.results())).toMatchObject({ SENT: 5 })
  })

  test('is UNRESOLVED if it was in doubt, because the refusal says nothing about the first request', async () => {
    const world = await startSendingWorld({ answer: gateway({ bad: [1] }).answer, settings: quickDoubts })
    world.doubted(1, {}, { ...call, delivery: 'AT_LEAST_ONCE' })
    for (const id of upTo(20)) {
      world.send(1 + id)
      await world.clock.pass(second)
    }
    const unresolved = world.results().filter(({ outcome }) => outcome !== 'SENT')
    expect(unresolved).toMatchObject([{ id: 1n, outcome: 'UNRESOLVED', errorCode: 'REJECTED', attempts: 2 }])
    expect(world.gauge('doubts_open')).toBe(0)
  })
})

test('commands refused with a text of gateway.errorTexts are REJECTED, although no other command passes', async () => {
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

test('commands that were refused in an outage expire soon after their deadline, with the reason in their results', async () => {
  const one = gateway()
  const world = await startSendingWorld({ answer: one.answer })
  one.down = true
  const deadline = world.clock.now() + 5 * second
  for (const id of upTo(5)) world.send(id, { deadline })
  await world.clock.pass(20 * second)
  expect(tallyOf(world.results())).toEqual({ EXPIRED: 5 })
  expect(world.results().map(({ errorCode, error }) => [errorCode, error])).toEqual(Array(5).fill(['DEADLINE', down]))
  expect(world.gauge('window_used_ratio')).toBe(0)
})

test('a command that only waited in an outage expires with that reason, not with the text of others', async () => {
  const one = gateway()
  const world = await startSendingWorld({ answer: one.answer, settings: { gateway: { concurrency: 8 } } })
  one.down = true
  const deadline = world.clock.now() + 5 * second
  for (const id of upTo(3000)) world.send(id, { deadline })
  await world.clock.pass(minute)
  one.down = false
  await world.clock.pass(minute)
  const waited = 'envelopes are refused as a whole with an unknown text'
  const errors = Object.groupBy(world.results(), ({ error }) => error ?? 'none')
  expect(Object.keys(errors).toSorted()).toEqual([down, waited].toSorted())
  expect(errors[waited]!.length).toBeGreaterThan(50)
})
