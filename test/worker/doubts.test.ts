import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Answer } from '../../src/gateway/connection.ts'
import { statusProof } from '../../src/protocol/index.ts'
import { schemas, subjectOf } from '../../src/records/schemas.ts'
import { itemsAnswer, refusal, refusedItem, sentItem } from '../support/answers.ts'
import { buildCommand, buildCommandOf } from '../support/commands.ts'
import { laggingRegistry } from '../support/lagging-registry.ts'
import { type SendingOptions, startSendingWorld } from '../support/sending.ts'

const minute = 60_000
const lost: Answer = { kind: 'lost', cause: 'timeout', message: 'timeout' }

/** A gateway that never answers a command, and refuses status polls. */
const startUnansweredWorld = (options: SendingOptions = {}) => {
  const unanswered = new Promise<Answer>(() => {})
  const answer: SendingOptions['answer'] = ([first]) =>
    first!.type === 'status' ? refusal('Access denied') : unanswered
  return startSendingWorld({ ...options, answer })
}

const settleMs = 30_000
/** A gateway that knows the message. A doubt is polled after `settleMs`. */
const startPolledWorld = () =>
  startSendingWorld({
    settings: { gateway: { timeoutMs: 10_000 }, doubts: { waitMs: settleMs - 10_000 } },
    answer: () => itemsAnswer(sentItem(1, { status: 'ROUTING' })),
  })

describe('a command in doubt', () => {
  test('after a second POST is SENT if the callback of the first one came between them', async () => {
    const { clock, doubted, calledBack, results } = await startSendingWorld({ answer: () => lost })
    const timestamp = clock.now()
    await clock.pass(10 * minute)
    calledBack(1)
    await clock.pass(10 * minute)
    doubted(1, { timestamp, attempts: 2 })
    await clock.pass(5000)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('gets a result with hooked = false only if no settings could have given it a hook', async () => {
    const world = await startSendingWorld({ answer: () => lost })
    for (const id of [1, 2]) world.calledBack(id)
    world.doubted(1)
    const { message } = buildCommandOf('pipeline')
    world.doubted(2, { type: 'pipeline' }, { message })
    await world.clock.pass(5000)
    expect(world.results()).toMatchObject([
      { id: 1n, hooked: null },
      { id: 2n, hooked: false },
    ])
  })

  test.each([
    ['right', 0],
    ['two minutes ahead', 2 * minute],
    ['counting microseconds', 1e15],
  ])("whose worker died is SENT because of an earlier callback, with its producer's clock %s", async (_, ahead) => {
    const world = await startUnansweredWorld()
    world.put('bulk', [buildCommand({ id: 1n })], 0, world.clock.now() + ahead)
    await world.clock.pass(1000)
    const calledBackAt = world.clock.now()
    world.calledBack(1)
    await world.clock.pass(4 * minute)
    await world.takeOver()
    await world.clock.pass(10 * minute)
    const sent = { id: 1n, outcome: 'SENT', attempts: 1, sentAt: calledBackAt }
    expect(world.results()).toMatchObject([{ outcome: 'IN_DOUBT' }, sent])
    expect(world.postsOf(1)).toBe(1)
  })

  test('whose worker died is searched only in statuses since its POST, however long it waited before', async () => {
    let fetches = 0
    const world = await startUnansweredWorld({
      hop: async (step, way) => {
        if (step.startsWith('fetch statuses') && way === 'there') fetches++
      },
    })
    for (let id = 10_000; id < 20_000; id++) world.calledBack(id)
    await world.clock.pass(60 * minute)
    world.send(1)
    await world.clock.pass(1000)
    world.calledBack(1)
    await world.clock.pass(4 * minute)
    await world.takeOver()
    await world.clock.pass(5000)
    expect(world.results()).toMatchObject([{ outcome: 'IN_DOUBT' }, { outcome: 'SENT' }])
    expect(fetches).toBe(1)
  })

  test.each([0, 2 * minute])(
    'of an earlier version is SENT because of a callback before it, with a clock %d ms ahead',
    async ahead => {
      const world = await startUnansweredWorld()
      await world.clock.pass(minute)
      const timestamp = world.clock.now() + ahead
      await world.clock.pass(1000)
      world.calledBack(1)
      await world.clock.pass(10 * minute)
      world.doubted(1, { cause: 'taken_over', timestamp })
      await world.clock.pass(10 * minute)
      expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT', attempts: 1 }])
      expect(world.postsOf(1)).toBe(0)
    },
  )

  test.each([
    ['right', 0],
    ['8 seconds behind', -8_000],
    ['a day behind', -24 * 60 * minute],
    ['a day ahead', 24 * 60 * minute],
  ])("is not polled during the settle time, with its sender's clock %s", async (_, ahead) => {
    const { clock, doubted, posts } = await startPolledWorld()
    doubted(1, { postedAt: clock.now() + ahead })
    await clock.pass(settleMs - 1000)
    expect(posts).toEqual([])
    await clock.pass(2000)
    expect(posts).toHaveLength(1)
  })

  test.each([
    ['call/otp', { message: { 'io.busgate.CallOtp': { comment: null } } }],
    ['hlr', { message: { 'io.busgate.Hlr': { comment: null } } }],
  ] as const)('of type %s, which cannot be polled, is not sent again during the settle time', async (type, command) => {
    const world = await startSendingWorld({
      settings: { gateway: { timeoutMs: 10_000 }, doubts: { waitMs: settleMs - 10_000 } },
    })
    world.doubted(1, { type }, { ...command, delivery: 'AT_LEAST_ONCE' })
    await world.clock.pass(settleMs - 1000)
    expect(world.postsOf(1)).toBe(0)
    await world.clock.pass(2000)
    expect(world.postsOf(1)).toBe(1)
  })

  test('waits for the settle time again after a take-over', async () => {
    const world = await startPolledWorld()
    world.doubted(1, { postedAt: world.clock.now() })
    await world.clock.pass(settleMs / 2)
    await world.takeOver()
    await world.clock.pass(settleMs - 2000)
    expect(world.posts).toEqual([])
    await world.clock.pass(15_000) // the group waits for the session time-out of the dead worker
    expect(world.posts).toHaveLength(1)
  })

  test.each([
    [{ status: 'SEEN', success: true }, 'SENT'],
    [{ status: '', success: true }, 'SENT'],
    [{ status: 'NOT FOUND', success: false }, 'UNRESOLVED'],
    [{ status: 'UNKNOWN', success: true }, 'UNRESOLVED'],
    [{ status: 'SEEN' }, 'SENT'],
  ])('for which the gateway returns %j ends %s', async (said, outcome) => {
    const world = await startSendingWorld({ answer: () => itemsAnswer(sentItem(1, said)) })
    world.doubted(1, {}, { delivery: 'AT_MOST_ONCE' })
    await world.clock.pass(10 * minute)
    expect(world.results()).toMatchObject([{ id: 1n, outcome }])
  })

  test('is never sent again if the answer to its status has no words: it ends UNRESOLVED, and says why', async () => {
    const world = await startSendingWorld({ answer: () => itemsAnswer({ success: true, data: { id: 1, status: 3 } }) })
    world.doubted(1, {}, { delivery: 'AT_LEAST_ONCE' })
    await world.clock.pass(10 * minute)
    const error = 'nobody could tell whether it was sent: the gateway answered for its status, but without words'
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST', error }])
    expect(world.postsOf(1)).toBe(0)
  })

  test('is SENT if the text stands beside the data of the item', async () => {
    const item = { success: true, status: 'DELIVERED', data: { id: 1 } }
    const world = await startSendingWorld({ answer: () => itemsAnswer(item) })
    world.doubted(1)
    await world.clock.pass(10 * minute)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  const answersOfAnyShape = fc.oneof(
    { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    fc.constantFrom(
      'DELIVERED',
      'UNKNOWN',
      'Message not found',
      { status: 'UNKNOWN' },
      { status: 'Message not found' },
    ),
    fc.record({ id: fc.jsonValue({ maxDepth: 1 }), status: fc.jsonValue({ maxDepth: 1 }) }),
  )

  test('ends in its time whatever the gateway answers, and is sent again only if nothing else can be done', async () => {
    await fc.assert(
      fc.asyncProperty(fc.boolean(), answersOfAnyShape, async (success, data) => {
        const item = { success, ...(!success && { error: 'none' }), data }
        const notFoundTexts = ['Message not found']
        const world = await startSendingWorld({
          settings: { gateway: { notFoundTexts } },
          answer: ([first]) => (first!.type === 'status' ? itemsAnswer(item) : null),
        })
        world.doubted(1, {}, { delivery: 'AT_LEAST_ONCE' })
        world.doubted(2, {}, { delivery: 'AT_MOST_ONCE' })
        await world.clock.pass(10 * minute)
        const proof = success ? statusProof(data, notFoundTexts) : 'unknown'
        const isSentAgain = proof === 'unknown' || proof === 'not_found'
        expect(world.postsOf(1)).toBe(isSentAgain ? 1 : 0)
        expect(world.postsOf(2)).toBe(0)
        const outcomeOf = (id: bigint) => world.results().find(result => result.id === id)?.outcome
        expect(outcomeOf(1n)).toBe(isSentAgain || proof === 'sent' ? 'SENT' : 'UNRESOLVED')
        expect(outcomeOf(2n)).toBe(proof === 'sent' ? 'SENT' : 'UNRESOLVED')
        await world.stop()
      }),
      { numRuns: 25 },
    )
  })

  test('whose content is lost is polled and never sent again: it ends UNRESOLVED, and says why', async () => {
    const world = await startSendingWorld()
    world.doubted(1, { omitted: 'its record was too large' }, { delivery: 'AT_LEAST_ONCE' })
    await world.clock.pass(10 * minute)
    expect(world.posts.map(({ operations }) => operations.map(({ type }) => type))).toEqual(Array(3).fill(['status']))
    const error = expect.stringMatching(/could not be sent again: its record was too large$/)
    expect(world.results()).toMatchObject([{ outcome: 'UNRESOLVED', errorCode: 'RESPONSE_LOST', error, attempts: 1 }])
  })

  test('whose schema is missing is polled, and ends once, as the result of its command', async () => {
    const registry = laggingRegistry()
    const status = 'DELIVERED'
    const world = await startSendingWorld({
      registry,
      answer: operations =>
        operations[0]!.type === 'status' ? itemsAnswer(...operations.map(({ id }) => sentItem(id, { status }))) : lost,
    })
    registry.only = await registry.idOf(subjectOf(world.settings.topics.doubts), schemas.doubt)
    world.send(1, { correlationId: 'order-7' })
    await world.clock.pass(5_000)
    registry.isLagging = true
    await world.takeOver()
    await world.clock.pass(10 * minute)
    const place = { account: 'default', correlationId: 'order-7', commandTopic: 'bulk', commandOffset: 0 }
    expect(world.results()).toMatchObject([
      { ...place, outcome: 'IN_DOUBT' },
      { ...place, outcome: 'SENT', attempts: 1 },
    ])
    expect(world.letters()).toEqual([])
  })

  test('of a type that busgate does not know ends UNRESOLVED with its content lost, and is a dead letter', async () => {
    const world = await startSendingWorld()
    world.doubted(1, { omitted: 'its record was too large', type: 'pigeon', attempts: 2 })
    await world.clock.pass(5000)
    const error = expect.stringContaining('its record was too large')
    expect(world.results()).toMatchObject([{ outcome: 'UNRESOLVED', type: 'pigeon', attempts: 2, error }])
    expect(world.letters().map(({ headers }) => headers)).toMatchObject([
      {
        'busgate.error.code': 'OMITTED',
        'busgate.error.perhaps-sent': 'true',
        'busgate.error.topic': 'urgent', // where its command was
      },
    ])
    expect(world.gauge('doubts_open')).toBe(0)
  })

  test('stays open while the gateway throttles polls for its status, however often', async () => {
    let isThrottling = true
    const world = await startSendingWorld({
      answer: () => itemsAnswer(isThrottling ? refusedItem(1, 'THROTTLE') : sentItem(1, { status: 'DELIVERED' })),
    })
    world.doubted(1, {}, { delivery: 'AT_MOST_ONCE' })
    await world.clock.pass(30 * minute)
    expect(world.results()).toEqual([])
    isThrottling = false
    await world.clock.pass(5 * minute)
    expect(world.results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })

  test('waits while the registry lacks its schema, and so does the callback that proves it', async () => {
    const registry = laggingRegistry()
    const { clock, doubted, calledBack, results, deadLetters } = await startSendingWorld({ registry })
    registry.isLagging = true
    doubted(1)
    await clock.pass(5000)
    registry.isLagging = false
    await clock.pass(10_000)
    registry.isLagging = true
    calledBack(1)
    await clock.pass(5000)
    expect([results(), deadLetters()]).toEqual([[], 0])
    registry.isLagging = false
    await clock.pass(5000)
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })
})
