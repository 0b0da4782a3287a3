import { expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/connection.ts'
import type { Events } from '../../src/telemetry/events.ts'
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

async function startFaultyWorld(poisons: (operations: readonly Operation[]) => boolean) {
  const world = await startSendingWorld({
    settings: { doubts, gateway: { timeoutMs: 100, maxOperations: 1 } },
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
