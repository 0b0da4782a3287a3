import { describe, expect, test } from 'vitest'
import { writeChange } from '../../src/control/change.ts'
import type { Answer } from '../../src/gateway/connection.ts'
import { answered, itemsAnswer, refusedItem, sentItem } from '../support/answers.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'
import { numbersFrom, sorted, startSendingWorld } from '../support/sending.ts'

type World = Awaited<ReturnType<typeof startSendingWorld>>

const sentIds = ({ posts }: World) => sorted(posts.flatMap(({ ids }) => ids))

/** The outcome and error code of each final result by its id, e.g. `EXPIRED WITHDRAWN`. */
async function endsOf({ results }: World): Promise<Map<number, string>> {
  const final = (await results()).filter(one => one.final)
  const ends = new Map(
    final.map(({ id, outcome, errorCode }) => [Number(id), [outcome, errorCode ?? []].flat().join(' ')]),
  )
  expect(ends.size).toBe(final.length) // one each
  return ends
}

const withdrawnIds = async (world: World) =>
  sorted([...(await endsOf(world))].flatMap(([id, end]) => (end === 'EXPIRED WITHDRAWN' ? id : [])))

/** Each of these scopes withdraws the commands with the fields `inAllScopes`. */
const scopes = [
  { kind: 'campaign', name: 'spring' },
  { kind: 'tenant', name: 'acme' },
  { kind: 'correlation_id', name: 'order-17' },
] as const
const inAllScopes = { campaign: 'spring', tenant: 'acme', correlationId: 'order-17' }

describe.each(scopes)('a withdrawn $kind', scope => {
  test('ends its unsent and its later commands, and no others', async () => {
    const world = await startSendingWorld({ accounts: { default: 10 } })
    const { put, pass, control } = world
    put('bulk', commandsFrom(1, 100, inAllScopes))
    put('bulk', commandsFrom(1_001, 5))
    await pass(2_000)
    const before = sentIds(world)
    expect(before.length).toBeGreaterThan(5)
    control(buildWithdrawal(scope))
    await pass(200)
    put('bulk', commandsFrom(101, 10, inAllScopes))
    await pass(2_000)
    expect(sentIds(world).filter(id => id <= 110)).toEqual(before.filter(id => id <= 110))
    expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 110).filter(id => !before.includes(id)))
    const [one] = (await world.results()).filter(({ errorCode }) => errorCode === 'WITHDRAWN')
    expect(one).toMatchObject({ final: true, attempts: 0, error: expect.stringContaining('by olena: wrong price') })
  })

  test('that was withdrawn before the worker started is never sent', async () => {
    const world = await startSendingWorld({ control: [writeChange('control', buildWithdrawal(scope))] })
    world.put('bulk', commandsFrom(1, 30, inAllScopes))
    await world.pass(2_000)
    expect(world.posts).toEqual([])
    expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 30))
  })
})

test('one withdrawn message is not sent; the same id of another account is', async () => {
  const world = await startSendingWorld()
  world.control(buildWithdrawal({ kind: 'message', name: 'default/7' }), buildPause())
  await world.pass(100)
  world.put('bulk', [...commandsFrom(1, 10), ...commandsFrom(7, 1, { account: 'other' })])
  world.control(buildWithdrawal({ kind: 'message', name: 'default/8' }), buildResume())
  await world.pass(2_000)
  expect(sorted(world.sent('default'))).toEqual([1, 2, 3, 4, 5, 6, 9, 10])
  const ends = (await world.results()).map(({ id, account, errorCode }) => `${account}/${id} ${errorCode}`)
  expect(ends.filter(end => end.endsWith('WITHDRAWN')).sort()).toEqual(['default/7 WITHDRAWN', 'default/8 WITHDRAWN'])
})

test('a message in flight keeps its outcome', async () => {
  const world = await startSendingWorld({ takes: () => 3_000 })
  world.put('bulk', commandsFrom(1, 10, inAllScopes))
  await world.pass(1_000)
  world.control(buildWithdrawal())
  await world.pass(5_000)
  expect([...new Set((await endsOf(world)).values())]).toEqual(['SENT'])
})

test('prepared commands that wait for a slot are taken back and end', async () => {
  const slots = { concurrency: 2, maxOperations: 10 }
  const world = await startSendingWorld({ gateway: slots, takes: () => 20_000 })
  world.put('bulk', commandsFrom(1, 100, inAllScopes))
  await world.pass(1_000)
  const before = sentIds(world)
  world.control(buildWithdrawal())
  await world.pass(2_000) // no slot is free yet
  expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 100).filter(id => !before.includes(id)))
  await world.pass(25_000)
  expect(sentIds(world)).toEqual(before)
})

test('paused commands end at once, although not all are in memory', async () => {
  const world = await startSendingWorld()
  world.control(buildPause({ kind: 'account', name: 'default' }))
  await world.pass(100)
  world.put('bulk', commandsFrom(1, 7_000, inAllScopes))
  await world.pass(5_000)
  world.control(buildWithdrawal())
  await world.pass(10_000)
  expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 7_000))
  expect(world.posts).toEqual([])
})

test('throttled commands end before they are retried', async () => {
  const throttled = answered('', { status: 429, retryAfterMs: 10_000 })
  const world = await startSendingWorld({ answer: () => throttled })
  world.put('bulk', commandsFrom(1, 10, inAllScopes))
  await world.pass(1_000)
  expect(world.posts.length).toBeGreaterThan(0)
  world.control(buildWithdrawal())
  await world.pass(2_000)
  expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 10))
})

describe('a withdrawn command in doubt', () => {
  const startDoubtWorld = async (answer: Answer) => {
    const world = await startSendingWorld({
      answer: () => answer,
      settings: { gateway: { notFoundTexts: ['Message not found'] } },
    })
    const { broker, settings, clock } = world
    const { control } = settings.topics
    const withdrawal = writeChange(control, buildWithdrawal({ kind: 'message', name: 'default/1' }))
    broker.append([{ partition: 0, ...withdrawal }], clock.now())
    await clock.pass(35_000)
    world.doubted(1)
    await clock.pass(10 * 60_000)
    return world
  }

  test('is not sent again, and its result says who withdrew it', async () => {
    const { results, posts } = await startDoubtWorld(itemsAnswer(refusedItem(1, 'Message not found')))
    expect(results()).toMatchObject([
      { id: 1n, outcome: 'UNRESOLVED', errorCode: 'WITHDRAWN', error: 'it was withdrawn by olena: wrong price' },
    ])
    expect(posts.flatMap(({ operations }) => operations).map(({ type }) => type)).toEqual(['status'])
  })

  test('is SENT if the gateway says that it was sent', async () => {
    const { results } = await startDoubtWorld(itemsAnswer(sentItem(1, { status: 'ROUTING' })))
    expect(results()).toMatchObject([{ id: 1n, outcome: 'SENT' }])
  })
})

describe('the end of a withdrawal', () => {
  test('counts by the timestamps of commands: older ones are withdrawn, newer ones are sent', async () => {
    const world = await startSendingWorld()
    const { clock, put, pass, control } = world
    control(buildWithdrawal({ until: clock.now() + 10_000 }))
    await pass(11_000)
    put('bulk', commandsFrom(1, 5, inAllScopes), 0, clock.now() - 5_000)
    put('bulk', commandsFrom(11, 5, inAllScopes))
    await pass(1_000)
    expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 5))
    expect(sentIds(world)).toEqual(numbersFrom(11, 5))
  })

  test('can be brought forward: later commands are sent, and ended ones stay ended', async () => {
    const world = await startSendingWorld()
    const { put, pass, control, gauge } = world
    control(buildWithdrawal())
    put('bulk', commandsFrom(1, 5, inAllScopes))
    await pass(1_000)
    expect(gauge('withdrawals', 'campaign')).toBe(1)
    control(buildWithdrawal({ begins: false }))
    await pass(100)
    put('bulk', commandsFrom(11, 5, inAllScopes))
    await pass(1_000)
    expect(await withdrawnIds(world)).toEqual(numbersFrom(1, 5))
    expect(sentIds(world)).toEqual(numbersFrom(11, 5))
    expect(gauge('withdrawals', 'campaign')).toBe(0)
  })
})

test('with more withdrawals than fit nothing is sent and the worker says so, until enough have ended', async () => {
  const most = 100_000
  const messages = Array.from({ length: most + 1 }, (_, i) =>
    buildWithdrawal({ kind: 'message', name: `default/${1_000 + i}` }),
  )
  const world = await startSendingWorld({ control: messages.map(change => writeChange('control', change)) })
  expect(world.sending.reasons().join()).toContain('nothing is sent: there are more than 100000 pauses and withdrawals')
  expect(world.gauge('control_used_ratio')).toBe(1)
  world.put('bulk', commandsFrom(1, 10))
  await world.pass(2_000)
  expect(world.posts).toEqual([])
  world.control(...messages.slice(0, 10).map(change => ({ ...change, begins: false })))
  await world.pass(60_000, 1_000)
  expect(world.sending.reasons()).toEqual([])
  expect(sorted(sentIds(world))).toEqual(numbersFrom(1, 10))
})
