import { expect, onTestFinished, test, vi } from 'vitest'
import type { Answer } from '../../src/gateway/connection.ts'
import type { Events } from '../../src/telemetry/events.ts'
import { Resolver } from '../../src/worker/doubts/resolver.ts'
import { Settler } from '../../src/worker/settler.ts'
import { itemsAnswer, sentItem } from '../support/answers.ts'
import { buildCommandOf } from '../support/commands.ts'
import { type Operation, startSendingWorld } from '../support/sending.ts'

/** An answer on which any code fails. */
const poisoned = Object.defineProperty({}, 'kind', {
  get() {
    throw new TypeError('a bug')
  },
}) as Answer

const doubts = { waitMs: 100, polls: 1, maxAttempts: 1 }

const has = (operations: readonly Operation[], type: string) => operations.some(operation => operation.type === type)

async function startFaultyWorld(poisons: (operations: readonly Operation[]) => boolean, maxOperations = 1) {
  const world = await startSendingWorld({
    settings: { doubts, gateway: { timeoutMs: 100, maxOperations } },
    answer: operations => (poisons(operations) ? poisoned : null),
  })
  const faults: Events['fault.contained'][] = []
  world.telemetry.on('fault.contained', fault => void faults.push(fault))
  const ends = () => world.results().map(({ id, outcome }) => `${id} ${outcome}`)
  return { ...world, faults, ends }
}

test('an answer that busgate fails on leaves its command in doubt, and all others are sent', async () => {
  const { send, pass, ends, faults, gauge } = await startFaultyWorld(operations => has(operations, 'viber'))
  send(1)
  send(2, { message: buildCommandOf('viber').message })
  send(3)
  await pass(10_000)
  expect(ends().toSorted()).toEqual(['1 SENT', '2 IN_DOUBT', '2 UNRESOLVED', '3 SENT'])
  expect(faults).toMatchObject([{ handling: 'answer', error: { name: 'TypeError' } }])
  expect(gauge('requests_in_flight')).toBe(0)
})

test('an answer to a status poll that busgate fails on proves nothing, and other polls go on', async () => {
  let isPoisoned = true
  const { doubted, pass, ends, faults } = await startFaultyWorld(
    operations => isPoisoned && has(operations, 'status') && operations[0]!.id === 1,
  )
  doubted(1, {}, { delivery: 'AT_MOST_ONCE' })
  doubted(2, {}, { delivery: 'AT_MOST_ONCE' })
  await pass(10_000)
  expect(ends()).toEqual(['2 UNRESOLVED'])
  isPoisoned = false
  await pass(60_000)
  expect(ends()).toEqual(['2 UNRESOLVED', '1 UNRESOLVED'])
  expect(faults[0]).toMatchObject({ handling: 'answer' })
})

test('a command that busgate fails to send is told from the others in its envelope, and does not stop them', async () => {
  const world = await startSendingWorld({
    connected: async operations => {
      if (has(operations, 'viber')) throw new TypeError('a bug')
    },
  })
  world.send(1)
  world.send(2, { message: buildCommandOf('viber').message })
  world.send(3)
  await world.pass(10_000)
  const ends = world.results().map(({ id, outcome }) => `${id} ${outcome}`)
  expect(ends.toSorted()).toEqual(['1 SENT', '2 INVALID', '3 SENT'])
  expect(world.gauge('requests_in_flight')).toBe(0)
  expect(world.gauge('intents_open')).toBe(0)
})

test('a request that busgate fails on after its first byte leaves all its commands in doubt', async () => {
  const world = await startSendingWorld({
    settings: { doubts, gateway: { timeoutMs: 100 } },
    answer: operations => (has(operations, 'viber') ? Promise.reject(new TypeError('a bug')) : null),
  })
  world.send(1)
  world.send(2, { message: buildCommandOf('viber').message })
  await world.pass(10_000)
  const ends = world.results().map(({ id, outcome }) => `${id} ${outcome}`)
  expect(ends.toSorted()).toEqual(['1 IN_DOUBT', '1 UNRESOLVED', '2 IN_DOUBT', '2 UNRESOLVED'])
  expect(world.gauge('requests_in_flight')).toBe(0)
})

test('a command that busgate failed to send has not used its id', async () => {
  let isFaulty = true
  const world = await startSendingWorld({
    connected: async () => {
      if (isFaulty) throw new TypeError('a bug')
    },
  })
  world.send(1)
  await world.pass(10_000)
  isFaulty = false
  world.send(1)
  await world.pass(15_000)
  expect(world.results().map(({ outcome }) => outcome)).toEqual(['INVALID', 'SENT'])
})

test.each([
  ['a message with the answer to another', itemsAnswer(sentItem(99)), 'sms'],
  [
    'a message with a page',
    { kind: 'response', request: '{}', status: 200, body: '<p>', retryAfterMs: null } as const,
    'sms',
  ],
  ['a status poll with the answers to two', itemsAnswer(sentItem(1), sentItem(2)), 'status'],
])('connections on which the gateway answers %s are not used again', async (_, foreign, type) => {
  const { send, doubted, pass, distrusts } = await startSendingWorld({
    settings: { doubts },
    answer: operations => (has(operations, type) ? foreign : null),
  })
  if (type === 'sms') send(1, { message: buildCommandOf('sms').message })
  else doubted(1, {}, { delivery: 'AT_MOST_ONCE' })
  await pass(200_000)
  expect(distrusts).not.toEqual([])
})

test('connections are used again after status polls that name messages by ids of the gateway', async () => {
  const { send, doubted, pass, distrusts, posts } = await startSendingWorld({
    settings: { doubts },
    takes: () => 50,
    answer: operations =>
      has(operations, 'status')
        ? itemsAnswer(...operations.map(({ id }) => sentItem(id + 1000, { status: 'READ' })))
        : null,
  })
  send(1)
  for (let id = 2; id <= 5; id++) doubted(id)
  await pass(200_000)
  expect(posts.some(({ operations }) => has(operations, 'status') && operations.length > 1)).toBe(true)
  expect(distrusts).toEqual([])
})

/** Lets busgate fail once to settle a command, as a bug would. */
function failOnceOn(id: bigint) {
  const { settle } = Settler.prototype
  let isFaulty = true
  const spy = vi.spyOn(Settler.prototype, 'settle').mockImplementation(function (this: Settler, pending, ...rest) {
    if (isFaulty && pending.command.id === id) {
      isFaulty = false
      throw new TypeError('a bug')
    }
    settle.call(this, pending, ...rest)
  })
  onTestFinished(() => spy.mockRestore())
}

test('an item of an answer that busgate fails on leaves its command in doubt, and the others of the envelope are sent', async () => {
  const { send, pass, results, faults, gauge } = await startFaultyWorld(() => false, 3)
  failOnceOn(2n)
  for (const id of [1, 2, 3]) send(id)
  await pass(10_000)
  const ends = results().map(({ id, outcome, error }) => [Number(id), outcome, error])
  expect(ends.toSorted()).toEqual([
    [1, 'SENT', null],
    [2, 'IN_DOUBT', expect.stringContaining('answer')],
    [2, 'UNRESOLVED', expect.any(String)],
    [3, 'SENT', null],
  ])
  expect(faults).toMatchObject([{ handling: 'answer', place: { topic: 'bulk', partition: 0, offset: 1 } }])
  expect([gauge('requests_in_flight'), gauge('window_used_ratio')]).toEqual([0, 0])
})

test('a doubt that busgate fails to resolve ends UNRESOLVED, and others are resolved', async () => {
  const { doubted, pass, results, faults, gauge } = await startFaultyWorld(() => false)
  failOnceOn(1n)
  for (const id of [1, 2]) doubted(id, {}, { delivery: 'AT_MOST_ONCE' })
  await pass(10_000)
  expect(results().map(({ id, outcome, attempts, error }) => [Number(id), outcome, attempts, error])).toEqual(
    expect.arrayContaining([
      [1, 'UNRESOLVED', 1, expect.stringContaining('busgate failed on it')],
      [2, 'UNRESOLVED', 1, 'nobody could tell whether it was sent'],
    ]),
  )
  expect(results()).toHaveLength(2)
  expect(faults).toMatchObject([{ handling: 'doubt', place: { topic: 'urgent', partition: 0, offset: 1 } }])
  expect([gauge('doubts_open'), gauge('window_used_ratio')]).toEqual([0, 0])
})

test('the record of a doubt that busgate fails to read ends with a dead letter and UNRESOLVED, and others go on', async () => {
  const { doubted, pass, results, faults, letters, gauge } = await startFaultyWorld(() => false)
  const resolve = vi.spyOn(Resolver.prototype, 'resolve').mockImplementationOnce(() => {
    throw new TypeError('a bug')
  })
  onTestFinished(() => resolve.mockRestore())
  for (const id of [1, 2]) doubted(id, {}, { delivery: 'AT_MOST_ONCE' })
  await pass(10_000)
  expect(results().map(({ id, outcome, error }) => [Number(id), outcome, error])).toEqual([
    [1, 'UNRESOLVED', expect.stringContaining('busgate failed')],
    [2, 'UNRESOLVED', 'nobody could tell whether it was sent'],
  ])
  expect(letters().map(({ key, headers }) => [String(key), String(headers['busgate.error.perhaps-sent'])])).toEqual([
    ['1', 'true'],
  ])
  expect(faults).toMatchObject([{ handling: 'doubt', place: { topic: 'doubts', partition: 0, offset: 0 } }])
  expect([gauge('doubts_open'), gauge('window_used_ratio')]).toEqual([0, 0])
})
