import { describe, expect, test } from 'vitest'
import { copyOfHeader, readLater } from '../../src/records/later.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'
import { numbersFrom, type SendingOptions, sorted, startSendingWorld } from '../support/sending.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** A world that tells what the table holds, and which offsets of a topic are committed. */
async function startWorld(options: SendingOptions = {}) {
  const world = await startSendingWorld(options)
  const { broker, clock, posts, results, settings } = world
  return {
    ...world,
    /** The ids of what waits on the table, each with its state. */
    table() {
      const states = new Map<number, string>()
      for (const record of broker.read({ topic: 'later', partition: 0 }, 0, 1_000_000).records) {
        const { key, state } = readLater(record)!
        if (state === 'over') states.delete(Number(key.id))
        else states.set(Number(key.id), state)
      }
      return Object.fromEntries(states)
    },
    ids: () => posts.flatMap(({ ids }) => ids),
    outcomes: () => results().map(({ id, outcome, errorCode }) => [Number(id), outcome, errorCode]),
    lag: () => {
      const tp = { topic: 'bulk', partition: 0 }
      return broker.end(tp) - (broker.committed(settings.kafka.groupId, tp)?.offset ?? 0)
    },
    in: (ms: number) => clock.now() + ms,
  }
}

describe('a command with notBefore', () => {
  test('is sent at its time, within two seconds, and takes no room in the window until then', async () => {
    const { put, pass, ids, table, lag, clock, posts, in: at, results } = await startWorld()
    const before = clock.monotonic()
    put('bulk', commandsFrom(1, 10, { notBefore: at(hour) }))
    await pass(500)
    expect(Object.values(table())).toEqual(Array(10).fill('waits'))
    expect(lag()).toBeLessThan(3)
    await pass(hour - 1_000, 1_000)
    expect(ids()).toEqual([])
    await pass(3_000)
    expect(sorted(ids())).toEqual(numbersFrom(1, 10))
    expect(posts[0]!.at - before).toBeGreaterThanOrEqual(hour)
    expect(posts.at(-1)!.at - before).toBeLessThan(hour + 2_000)
    await pass(1_000)
    expect(table()).toEqual({})
    expect(results().map(({ commandOffset, outcome }) => [commandOffset, outcome])).toEqual(
      numbersFrom(0, 10).map(offset => [offset, 'SENT']),
    )
  })

  test('in the past is sent now', async () => {
    const { put, pass, ids, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 3, { notBefore: at(-hour) }))
    await pass(1_000)
    expect(ids()).toHaveLength(3)
  })

  test('further ahead than the horizon is INVALID and names the field', async () => {
    const { put, pass, results, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 1, { notBefore: at(8 * day) }))
    await pass(1_000)
    expect(results()[0]).toMatchObject({ outcome: 'INVALID', errorCode: 'VALIDATION', error: /notBefore/ })
  })

  test('ages from its time on, and expires at its deadline', async () => {
    const {
      put,
      pass,
      outcomes,
      ids,
      in: at,
      control,
    } = await startWorld({ settings: { commands: { maxAgeMs: hour } } })
    put('bulk', commandsFrom(1, 1, { notBefore: at(3 * hour) }))
    put('bulk', commandsFrom(2, 1, { notBefore: at(3 * hour), deadline: at(3 * hour + minute) }))
    await pass(2 * hour, minute)
    control(buildPause({ kind: 'account', name: 'default' }))
    await pass(hour + 10 * minute, 10_000)
    expect(outcomes()).toEqual([[2, 'EXPIRED', 'DEADLINE']])
    control(buildResume({ kind: 'account', name: 'default' }))
    await pass(5_000)
    expect(ids()).toEqual([1])
  })

  test('holds back no other: thousands that wait leave the window at once', async () => {
    const { put, pass, ids, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 20_000, { notBefore: at(day) }))
    put('bulk', commandsFrom(30_001, 10))
    await pass(10_000)
    expect(sorted(ids())).toEqual(numbersFrom(30_001, 10))
  })

  test('is judged at its time like a new command: a quiet account sends nothing until it may', async () => {
    const { put, pass, ids, in: at, control } = await startWorld()
    put('bulk', commandsFrom(1, 3, { notBefore: at(hour) }))
    await pass(1_000)
    control(buildPause({ kind: 'topic', name: 'bulk' }))
    await pass(hour + minute, 1_000)
    expect(ids()).toEqual([])
    control(buildResume({ kind: 'topic', name: 'bulk' }))
    await pass(2_000)
    expect(sorted(ids())).toEqual([1, 2, 3])
  })

  test('that is due in quiet hours is sent once they are over', async () => {
    const quietHours = '14:00-15:00 Europe/Kyiv' // the clock of the world stands at 12:00 UTC, which is 14:00 there
    const { put, pass, ids, in: at } = await startWorld({ gateway: { quietHours } })
    put('bulk', commandsFrom(1, 3, { notBefore: at(30 * minute) }))
    await pass(hour - minute, 1_000)
    expect(ids()).toEqual([])
    await pass(2 * minute, 1_000)
    expect(sorted(ids())).toEqual([1, 2, 3])
  })

  test('is released and sent after a rebalance that kept its partition', async () => {
    const { put, pass, ids, in: at, joinIdle } = await startWorld()
    put('bulk', commandsFrom(1, 50, { notBefore: at(minute) }))
    put('urgent', commandsFrom(101, 50, { notBefore: at(minute) }))
    await pass(minute - 100)
    joinIdle()
    await pass(30_000, 100)
    expect(ids().length).toBeGreaterThanOrEqual(50) // the other one may own a partition, and sends nothing
  })

  test('is sent after the rebalance in which its time came', async () => {
    const { put, pass, ids, in: at, joinIdle } = await startWorld({ takes: () => 5_000 })
    for (const topic of ['bulk', 'urgent'])
      put(topic, commandsFrom(topic === 'bulk' ? 1 : 101, 10, { notBefore: at(minute) }))
    await pass(minute - 2_000)
    for (const topic of ['bulk', 'urgent']) put(topic, commandsFrom(topic === 'bulk' ? 11 : 111, 1))
    await pass(1_000)
    joinIdle() // it waits for the requests in flight
    await pass(30_000, 100)
    expect(ids().length).toBeGreaterThanOrEqual(12) // the other one may own a partition, and sends nothing
  })

  test('has used its id: a repetition is DUPLICATE, also in a later process and beyond the last ten thousand', async () => {
    const { put, pass, outcomes, takeOver, in: at, ids } = await startWorld()
    put('bulk', commandsFrom(1, 1, { notBefore: at(hour) }))
    put('bulk', commandsFrom(10_001, 25_000))
    await pass(20_000)
    await takeOver()
    await pass(1_000)
    put('bulk', commandsFrom(1, 1))
    await pass(2_000)
    expect(outcomes().filter(([id]) => id === 1)).toEqual([[1, 'DUPLICATE', 'DUPLICATE_ID']])
    await pass(hour, 1_000)
    expect(ids().filter(id => id === 1)).toHaveLength(1)
  })

  test('may have its id in another account', async () => {
    const { put, pass, ids, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 1, { notBefore: at(hour) }))
    await pass(500)
    put('bulk', commandsFrom(1, 1, { account: 'other' }))
    await pass(1_000)
    expect(ids()).toEqual([1])
  })

  test('outlives processes: each is sent once, whoever owns the partition when it is due', async () => {
    const { put, pass, ids, takeOver, in: at, table } = await startWorld()
    for (const [i, ms] of [hour, 2 * hour, 3 * hour].entries())
      put('bulk', commandsFrom(1 + 100 * i, 50, { notBefore: at(ms) }))
    await pass(500)
    await takeOver()
    await pass(hour + minute, 1_000)
    expect(sorted(ids())).toEqual(numbersFrom(1, 50))
    await takeOver()
    await pass(hour, 1_000)
    await takeOver()
    await pass(hour + minute, 1_000)
    expect(sorted(ids())).toEqual([...numbersFrom(1, 50), ...numbersFrom(101, 50), ...numbersFrom(201, 50)])
    await pass(2_000)
    expect(table()).toEqual({})
  })

  test('that was perhaps sent when its process died is a doubt of the record as it was written', async () => {
    const {
      put,
      pass,
      takeOver,
      in: at,
      results,
      posts,
      table,
    } = await startWorld({
      takes: ({ ids }) => (ids.some(id => id > 10) ? Number.POSITIVE_INFINITY : 0),
    })
    put('bulk', commandsFrom(1, 3))
    put('bulk', commandsFrom(11, 3, { notBefore: at(hour) }))
    await pass(hour + 5_000, 1_000)
    expect(posts.length).toBeGreaterThan(1)
    await takeOver()
    await pass(5_000)
    const doubts = results().filter(({ outcome, id }) => outcome === 'IN_DOUBT' && id > 10n)
    expect(doubts.map(({ id, commandOffset }) => [Number(id), commandOffset])).toEqual([
      [11, 3],
      [12, 4],
      [13, 5],
    ])
    expect(table()).toEqual({})
  })

  test('is not sent again when the progress is reset, before its time, while it is released, and afterwards', async () => {
    const { put, pass, takeOver, in: at, broker, settings, ids, outcomes } = await startWorld()
    const reset = () => broker.resetOffset(settings.kafka.groupId, { topic: 'bulk', partition: 0 }, 0)
    put('bulk', commandsFrom(1, 20, { notBefore: at(hour) }))
    put('bulk', commandsFrom(101, 20))
    await pass(5_000)
    await takeOver({ meanwhile: reset })
    await pass(hour + minute, 1_000)
    await takeOver({ meanwhile: reset })
    await pass(10 * minute, 1_000)
    const finals = outcomes().filter(([, outcome]) => outcome !== 'IN_DOUBT')
    expect(sorted(ids())).toEqual([...numbersFrom(1, 20), ...numbersFrom(101, 20)])
    expect(finals).toHaveLength(40)
  })

  test('forges nothing: a record that only says to be a copy is a command like any other', async () => {
    const { append, encode, pass, ids, results, in: at, send } = await startWorld()
    send(1, { notBefore: at(hour) })
    await pass(500)
    const headers = { [copyOfHeader]: 'bulk/0@0#1', 'busgate.later': '["released"]' }
    append({ key: null, value: await encode({ id: 5n }), headers })
    append({ key: null, value: await encode({ id: 1n }), headers })
    await pass(1_000)
    expect(ids()).toEqual([5])
    expect(results().map(({ id, outcome, commandOffset }) => [Number(id), outcome, commandOffset])).toEqual(
      expect.arrayContaining([
        [5, 'SENT', expect.any(Number)],
        [1, 'DUPLICATE', expect.any(Number)],
      ]),
    )
  })

  test('is released at full speed, and never more than some thousands stand before other commands', async () => {
    const { put, pass, ids, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 10_000, { notBefore: at(hour) }))
    await pass(hour - 1_000, 1_000)
    await pass(20_000)
    expect(sorted(ids())).toEqual(numbersFrom(1, 10_000))
  })
})

describe('a withdrawal', () => {
  test('ends what waits at once and for good, though the withdrawal itself is forgotten', async () => {
    const { put, pass, control, outcomes, ids, in: at, takeOver, table } = await startWorld()
    put('bulk', commandsFrom(1, 10, { notBefore: at(hour), campaign: 'spring' }))
    put('bulk', commandsFrom(11, 2, { notBefore: at(hour) }))
    await pass(1_000)
    control(buildWithdrawal({ until: at(minute) }))
    await pass(1_000)
    expect(outcomes()).toEqual(numbersFrom(1, 10).map(id => [id, 'EXPIRED', 'WITHDRAWN']))
    expect(table()).toEqual({ 11: 'waits', 12: 'waits' })
    await takeOver({ settings: { commands: { maxAgeMs: minute, horizonMs: minute } } })
    await pass(hour + minute, minute)
    expect(sorted(ids())).toEqual([11, 12])
  })

  test('of one message ends that one, and a later one of another message that one', async () => {
    const { put, pass, control, outcomes, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 3, { notBefore: at(hour) }))
    await pass(1_000)
    control(buildWithdrawal({ kind: 'message', name: 'default/2' }))
    await pass(1_000)
    expect(outcomes()).toEqual([[2, 'EXPIRED', 'WITHDRAWN']])
    control(buildWithdrawal({ kind: 'message', name: 'default/3' }))
    await pass(1_000)
    expect(outcomes()).toEqual([2, 3].map(id => [id, 'EXPIRED', 'WITHDRAWN']))
  })

  test('of a message ends it in the account that it names, and one of another account with the same id', async () => {
    const { put, pass, control, results, in: at } = await startWorld()
    for (const account of ['default', 'other']) put('bulk', commandsFrom(1, 1, { notBefore: at(hour), account }))
    await pass(1_000)
    for (const [i, account] of ['default', 'other'].entries()) {
      control(buildWithdrawal({ kind: 'message', name: `${account}/1` }))
      await pass(1_000)
      expect(results().slice(i)).toMatchObject([{ account, outcome: 'EXPIRED', errorCode: 'WITHDRAWN' }])
    }
  })

  test('frees the id for another command', async () => {
    const { put, pass, control, ids, in: at } = await startWorld()
    put('bulk', commandsFrom(1, 1, { notBefore: at(hour), campaign: 'spring' }))
    await pass(1_000)
    control(buildWithdrawal())
    await pass(1_000)
    put('bulk', commandsFrom(1, 1))
    await pass(2_000)
    expect(ids()).toEqual([1])
  })

  test('that was made while no process ran ends what waits', async () => {
    const { put, pass, control, outcomes, in: at, takeOver } = await startWorld()
    put('bulk', commandsFrom(1, 3, { notBefore: at(hour), campaign: 'spring' }))
    await pass(1_000)
    await takeOver({ meanwhile: () => control(buildWithdrawal()) })
    await pass(2_000)
    expect(outcomes()).toEqual(numbersFrom(1, 3).map(id => [id, 'EXPIRED', 'WITHDRAWN']))
  })
})

describe.each([
  { kind: 'campaign', name: 'spring' },
  { kind: 'tenant', name: 'acme' },
] as const)('a paused $kind', scope => {
  const stopped = { campaign: 'spring', tenant: 'acme' }

  test('leaves the window: what is queued and what comes waits on the table, and goes on when it is resumed', async () => {
    const accounts = { default: 10 }
    const { put, pass, control, ids, table, lag, takeOver } = await startWorld({ accounts })
    put('bulk', commandsFrom(1, 1_000, stopped))
    await pass(2_000)
    const before = ids().length
    expect(before).toBeLessThan(200)
    control(buildPause(scope))
    put('bulk', commandsFrom(1_001, 11_000, stopped))
    put('bulk', commandsFrom(20_001, 5))
    await pass(20_000)
    expect(sorted(ids().slice(before))).toEqual(numbersFrom(20_001, 5))
    expect(lag()).toBeLessThan(5)
    await takeOver()
    await pass(5_000)
    expect(Object.keys(table())).toHaveLength(12_000 - before)
    control(buildResume(scope))
    await pass(10_000)
    expect(ids().length).toBeGreaterThan(before + 50)
    expect(new Set(ids()).size).toBe(ids().length)
  })

  test('expires what it holds, in time', async () => {
    const { put, pass, control, outcomes, in: at } = await startWorld()
    control(buildPause(scope))
    await pass(200)
    put('bulk', commandsFrom(1, 3, { ...stopped, deadline: at(minute) }))
    await pass(minute + 10_000, 1_000)
    expect(outcomes()).toEqual(numbersFrom(1, 3).map(id => [id, 'EXPIRED', 'DEADLINE']))
  })

  test('holds what becomes due meanwhile, which ends by a withdrawal', async () => {
    const { put, pass, control, outcomes, ids, in: at, table } = await startWorld()
    put('bulk', commandsFrom(1, 3, { ...stopped, notBefore: at(minute) }))
    control(buildPause(scope))
    await pass(2 * minute, 1_000)
    expect(ids()).toEqual([])
    expect(Object.values(table())).toEqual(['waits', 'waits', 'waits'])
    control(buildWithdrawal(scope))
    await pass(2_000)
    expect(outcomes()).toEqual(numbersFrom(1, 3).map(id => [id, 'EXPIRED', 'WITHDRAWN']))
  })
})
