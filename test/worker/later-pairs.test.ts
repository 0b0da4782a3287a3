import { describe, expect, test } from 'vitest'
import type { Scope, Withdrawn } from '../../src/control/change.ts'
import type { SendCommand } from '../../src/records/generated.ts'
import { commandsFrom } from '../support/commands.ts'
import { buildPause, buildResume, buildWithdrawal } from '../support/control.ts'
import { numbersFrom, type Post, type SendingOptions, sorted, startSendingWorld } from '../support/sending.ts'

const minute = 60_000
const hour = 60 * minute

/** All names by which a command can be paused or withdrawn. */
const names = { campaign: 'spring', tenant: 'acme', correlationId: 'order 7' }

/** Minutes after the start of the world. */
interface Period {
  from: number
  until: number
}

type Paused = Extract<Scope, { effect: 'paused' }>

/** What stops a command for a while: by settings, or by an operator. */
interface Stop {
  what: string
  settings?: (period: Period) => SendingOptions
  scope?: Omit<Paused, 'effect'>
}

/** The clock of the world starts at noon UTC. */
const clockTime = (minutes: number) => `${12 + Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`

const stops: readonly Stop[] = [
  {
    what: 'quiet hours',
    settings: ({ from, until }) => ({ gateway: { quietHours: `${clockTime(from)}-${clockTime(until)} UTC` } }),
  },
  {
    what: 'quiet hours of its account',
    settings: ({ from, until }) => ({
      own: { default: { quietHours: `${clockTime(from)}-${clockTime(until)} UTC` } },
    }),
  },
  { what: 'a pause of its topic', scope: { kind: 'topic', name: 'bulk' } },
  { what: 'a pause of its account', scope: { kind: 'account', name: 'default' } },
  { what: 'a pause of its campaign', scope: { kind: 'campaign', name: names.campaign } },
  { what: 'a pause of its tenant', scope: { kind: 'tenant', name: names.tenant } },
]

/** The commands in requests, without questions for their status. */
const commandsOf = (posts: readonly Post[]) =>
  posts.flatMap(({ operations, at }) =>
    operations.filter(({ type }) => type !== 'status').map(({ id }) => ({ id, at })),
  )

async function startWorld(options: SendingOptions = {}) {
  const world = await startSendingWorld(options)
  const { clock, posts, results, put, control, pass, encode, broker } = world
  const start = clock.monotonic()
  const at = (minutes: number) => clock.now() + minutes * minute
  return {
    ...world,
    at,
    wait: (from: number, count: number, due: number, more: Partial<SendCommand> = {}) =>
      put('bulk', commandsFrom(from, count, { ...names, notBefore: at(due), ...more })),
    minutes: () => (clock.monotonic() - start) / minute,
    /** Milliseconds after the start at which each id was POSTed. */
    sentAt: () => commandsOf(posts).map(({ id, at }) => ({ id, at: at - start })),
    ids: () => commandsOf(posts).map(({ id }) => id),
    outcomes: () =>
      results()
        .map(({ id, outcome, errorCode }) => [Number(id), outcome, errorCode])
        .toSorted(([one], [other]) => Number(one) - Number(other)),
    withdraw: (by: Omit<Withdrawn, 'effect'>, lasts = 24 * 60) =>
      control(buildWithdrawal({ ...by, at: clock.now(), until: at(lasts) } as Parameters<typeof buildWithdrawal>[0])),
    toMinute: async (minutes: number) => {
      const left = start + minutes * minute - clock.monotonic()
      if (left > 0) await pass(left, 6_000)
    },
    /** Retention deletes everything before the newest record. */
    async deleteRecords(topic: string) {
      const tp = { topic, partition: 0 }
      broker.append([{ ...tp, key: null, value: await encode({ id: 999n, account: 'other' }) }], clock.now())
      broker.cut(tp, { start: broker.end(tp) - 1 })
    },
  }
}

/** A world that is stopped from one minute until another. */
async function startStopped({ settings, scope }: Stop, period: Period, options: SendingOptions = {}) {
  const world = await startWorld({ ...options, ...settings?.(period) })
  const scoped = scope && { effect: 'paused' as const, ...scope }
  return {
    ...world,
    toMinute: async (minutes: number) => {
      for (const [when, change] of [
        [period.from, buildPause],
        [period.until, buildResume],
      ] as const) {
        if (!scoped || when < world.minutes() || when >= minutes) continue
        await world.toMinute(when)
        world.control(change({ ...scoped, at: world.clock.now() } as Paused))
      }
      await world.toMinute(minutes)
    },
  }
}

describe.each(stops)('a due time meets $what', stop => {
  test('that ended before it: each is sent at its time', async () => {
    const { wait, toMinute, sentAt } = await startStopped(stop, { from: 10, until: 30 })
    wait(1, 5, 60)
    await toMinute(61)
    expect(sorted(sentAt().map(({ id }) => id))).toEqual(numbersFrom(1, 5))
    for (const { at } of sentAt()) expect(at - hour).toBeLessThan(2_000)
    for (const { at } of sentAt()) expect(at).toBeGreaterThanOrEqual(hour)
  })

  test('that lasts longer: each is sent once, when it ends, also by another process', async () => {
    const { wait, toMinute, sentAt, ids, takeOver } = await startStopped(stop, { from: 10, until: 90 })
    wait(1, 5, 60)
    await toMinute(70)
    await takeOver()
    await toMinute(89.9)
    expect(ids()).toEqual([])
    await toMinute(91)
    expect(sorted(ids())).toEqual(numbersFrom(1, 5))
    for (const { at } of sentAt()) expect(at - 1.5 * hour).toBeLessThan(3_000)
  })

  test('that begins while what is due is being sent: the rest is sent once, when it ends', async () => {
    const accounts = { default: 10, other: undefined }
    const { wait, toMinute, ids, takeOver } = await startStopped(stop, { from: 61, until: 90 }, { accounts })
    wait(1, 1_000, 60)
    await toMinute(61.1)
    const before = ids().length
    expect(before).toBeGreaterThan(0)
    await toMinute(80)
    await takeOver()
    await toMinute(89.9)
    expect(ids()).toHaveLength(before)
    await toMinute(93)
    expect(sorted(ids())).toEqual(numbersFrom(1, 1_000))
  })

  test('and a deadline in it: each expires then, and is not sent', async () => {
    const { wait, toMinute, outcomes, ids } = await startStopped(stop, { from: 10, until: 90 })
    wait(1, 3, 60, { deadline: Date.UTC(2026, 2, 14, 13, 15) })
    await toMinute(74.9)
    expect(outcomes()).toEqual([])
    await toMinute(75.5)
    expect(outcomes()).toEqual(numbersFrom(1, 3).map(id => [id, 'EXPIRED', 'DEADLINE']))
    await toMinute(100)
    expect(ids()).toEqual([])
  })

  test('that lasts longer than its maximum age, which begins at its time', async () => {
    const options = { settings: { commands: { maxAgeMs: 40 * minute } } }
    const { wait, toMinute, outcomes, ids } = await startStopped(stop, { from: 10, until: 110 }, options)
    wait(1, 1, 60)
    wait(2, 1, 80)
    await toMinute(99)
    expect(outcomes()).toEqual([])
    await toMinute(101)
    expect(outcomes()).toEqual([[1, 'EXPIRED', 'MAX_AGE']])
    await toMinute(111)
    expect(ids()).toEqual([2])
  })

  test('and a withdrawal in it: each ends, and is not sent', async () => {
    const { wait, toMinute, outcomes, ids, withdraw } = await startStopped(stop, { from: 10, until: 90 })
    wait(1, 3, 60)
    await toMinute(70)
    withdraw({ kind: 'campaign', name: names.campaign })
    await toMinute(71)
    expect(outcomes()).toEqual(numbersFrom(1, 3).map(id => [id, 'EXPIRED', 'WITHDRAWN']))
    await toMinute(92)
    expect(ids()).toEqual([])
  })

  test('and a repeated id in it: the first is sent, the other is a duplicate', async () => {
    const { wait, toMinute, outcomes, ids } = await startStopped(stop, { from: 10, until: 90 })
    wait(1, 1, 60)
    await toMinute(70)
    wait(1, 1, 0)
    wait(1, 1, 60)
    await toMinute(92)
    expect(ids()).toEqual([1])
    expect(
      outcomes()
        .map(([, outcome]) => outcome)
        .toSorted(),
    ).toEqual(['DUPLICATE', 'DUPLICATE', 'SENT'])
    await toMinute(140)
    expect(ids()).toEqual([1])
  })

  test('and a reset of the progress in it: each is sent once', async () => {
    const { wait, toMinute, ids, outcomes, takeOver, broker, settings, put } = await startStopped(stop, {
      from: 10,
      until: 90,
    })
    put('bulk', commandsFrom(101, 3))
    wait(1, 3, 60)
    await toMinute(70)
    const reset = () => broker.resetOffset(settings.kafka.groupId, { topic: 'bulk', partition: 0 }, 0)
    await takeOver({ meanwhile: reset })
    await toMinute(95)
    const all = [...numbersFrom(1, 3), ...numbersFrom(101, 3)]
    expect(sorted(ids())).toEqual(all)
    expect(outcomes().filter(([, outcome]) => outcome !== 'IN_DOUBT')).toEqual(all.map(id => [id, 'SENT', null]))
  })
})

test('quiet hours hold back nothing on the urgent topic at its time', async () => {
  const { put, toMinute, ids, at } = await startWorld({ gateway: { quietHours: '12:10-23:00 UTC' } })
  put('urgent', commandsFrom(1, 3, { notBefore: at(60) }))
  await toMinute(61)
  expect(ids()).toEqual([1, 2, 3])
})

describe.each([
  { kind: 'message', name: 'default/1' },
  { kind: 'campaign', name: names.campaign },
  { kind: 'tenant', name: names.tenant },
  { kind: 'correlation_id', name: names.correlationId },
] as const)('a due time meets a withdrawal by $kind', by => {
  test('before it: the command ends at once, and others are sent', async () => {
    const { wait, withdraw, toMinute, outcomes, put, at, ids } = await startWorld()
    wait(1, 1, 60)
    put('bulk', commandsFrom(2, 1, { notBefore: at(60) }))
    await toMinute(30)
    withdraw(by)
    await toMinute(31)
    expect(outcomes()).toEqual([[1, 'EXPIRED', 'WITHDRAWN']])
    await toMinute(61)
    expect(ids()).toEqual([2])
  })

  test('that is forgotten before it, and by another process: the command is never sent', async () => {
    const settings = { commands: { maxAgeMs: minute, horizonMs: hour } }
    const { wait, withdraw, toMinute, outcomes, ids, takeOver } = await startWorld({ settings })
    wait(1, 1, 60)
    await toMinute(10)
    withdraw(by, 1)
    await toMinute(11)
    const forgetful = { commands: { maxAgeMs: minute, horizonMs: minute } }
    await takeOver({ settings: forgetful })
    await toMinute(50)
    await takeOver({ settings: forgetful })
    await toMinute(62)
    expect([outcomes(), ids()]).toEqual([[[1, 'EXPIRED', 'WITHDRAWN']], []])
  })

  test('that was made, and not yet forgotten, while no process ran: the command is never sent', async () => {
    const { wait, withdraw, toMinute, outcomes, ids, takeOver } = await startWorld()
    wait(1, 1, 60)
    await toMinute(10)
    await takeOver({ meanwhile: () => withdraw(by, 5) })
    await toMinute(62)
    expect([outcomes(), ids()]).toEqual([[[1, 'EXPIRED', 'WITHDRAWN']], []])
  })

  test.each([
    ['waits', true],
    ['is not read yet', false],
  ])('that was made, and has ended, while no process ran and the command %s: it is never sent', async (_, isRead) => {
    const settings = { commands: { maxAgeMs: minute, horizonMs: hour } }
    const { wait, withdraw, toMinute, outcomes, ids, takeOver, clock } = await startWorld({ settings })
    await toMinute(9)
    if (isRead) wait(1, 1, 51)
    await toMinute(10)
    await takeOver({
      settings,
      meanwhile() {
        if (!isRead) wait(1, 1, 50)
        withdraw(by, 1)
        clock.step(40 * minute)
      },
    })
    await toMinute(62)
    expect([outcomes(), ids()]).toEqual([[[1, 'EXPIRED', 'WITHDRAWN']], []])
  })

  test('that was made before it was written, and lasts until then: the command ends at once', async () => {
    const { wait, withdraw, toMinute, outcomes, ids } = await startWorld()
    withdraw(by, 20)
    await toMinute(10)
    wait(1, 1, 60)
    await toMinute(11)
    expect(outcomes()).toEqual([[1, 'EXPIRED', 'WITHDRAWN']])
    await toMinute(72)
    expect(ids()).toEqual([])
  })

  test('that ended before it was written: the command is sent', async () => {
    const { wait, withdraw, toMinute, ids } = await startWorld()
    withdraw(by, 5)
    await toMinute(10)
    wait(1, 1, 60)
    await toMinute(72)
    expect(ids()).toEqual([1])
  })

  test('after it, while its account is paused: the command ends at once', async () => {
    const { wait, withdraw, toMinute, outcomes, ids, control } = await startWorld()
    control(buildPause({ kind: 'account', name: 'default' }))
    wait(1, 1, 60)
    await toMinute(70)
    withdraw(by)
    await toMinute(71)
    expect(outcomes()).toEqual([[1, 'EXPIRED', 'WITHDRAWN']])
    control(buildResume({ kind: 'account', name: 'default' }))
    await toMinute(80)
    expect(ids()).toEqual([])
  })

  test('of the same second: it ends once, sent or withdrawn', async () => {
    const { wait, withdraw, toMinute, outcomes, ids, pass } = await startWorld()
    wait(1, 1, 60)
    await toMinute(59.99)
    withdraw(by)
    await pass(10_000)
    expect(outcomes()).toEqual([[1, ...(ids().length === 1 ? ['SENT', null] : ['EXPIRED', 'WITHDRAWN'])]])
  })

  test('after it was sent: the result stays', async () => {
    const { wait, withdraw, toMinute, outcomes } = await startWorld()
    wait(1, 1, 60)
    await toMinute(61)
    withdraw(by)
    await toMinute(63)
    expect(outcomes()).toEqual([[1, 'SENT', null]])
  })

  test('and another time for the same id: only the new one is sent', async () => {
    const { wait, withdraw, toMinute, outcomes, ids, takeOver } = await startWorld()
    wait(1, 1, 60)
    await toMinute(10)
    withdraw(by, 1)
    await toMinute(12)
    wait(1, 1, 40)
    await toMinute(20)
    await takeOver()
    await toMinute(70)
    expect(ids()).toEqual([1])
    expect(outcomes().map(([, outcome]) => outcome)).toEqual(['EXPIRED', 'SENT'])
  })
})

describe('a due time meets the retention of', () => {
  test('the command topic: what waits is sent from its own record of the table', async () => {
    const { wait, toMinute, ids, takeOver, deleteRecords, letters } = await startWorld()
    wait(1, 3, 60)
    await toMinute(1)
    await deleteRecords('bulk')
    await takeOver()
    await toMinute(61)
    expect(sorted(ids().filter(id => id !== 999))).toEqual([1, 2, 3])
    expect(letters()).toEqual([])
  })

  test.each([1, 3])(
    'the command topic after %i were released: each ends with a dead letter, and is not sent',
    async count => {
      const { wait, toMinute, ids, takeOver, control, letters, outcomes, deleteRecords } = await startWorld()
      control(buildPause({ kind: 'account', name: 'default' }))
      wait(1, count, 60)
      await toMinute(61)
      let deleted = Promise.resolve()
      await takeOver({
        meanwhile() {
          deleted = deleteRecords('bulk')
        },
      })
      await deleted
      await takeOver()
      await toMinute(62)
      control(buildResume({ kind: 'account', name: 'default' }))
      await toMinute(65)
      const ends = letters().map(({ headers }) => String(headers['busgate.error.code']))
      expect(ends.filter(code => code === 'RECORDS_DELETED').length).toBeGreaterThanOrEqual(count)
      expect(outcomes().filter(([id]) => id !== 999)).toEqual([])
      expect(ids().filter(id => id !== 999)).toEqual([])
    },
  )

  test('the results: what waits is sent once', async () => {
    const { wait, toMinute, ids, takeOver, broker, put } = await startWorld()
    put('bulk', commandsFrom(101, 3))
    wait(1, 3, 60)
    await toMinute(1)
    const results = { topic: 'results', partition: 0 }
    await takeOver({ meanwhile: () => broker.cut(results, { start: broker.end(results) }) })
    await toMinute(61)
    expect(sorted(ids())).toEqual([1, 2, 3, 101, 102, 103])
  })
})

describe('a due time meets an id', () => {
  test('that waits already, for another time: the first one alone is sent', async () => {
    const { wait, toMinute, ids, outcomes } = await startWorld()
    wait(1, 1, 60)
    wait(1, 1, 30)
    await toMinute(31)
    expect(ids()).toEqual([])
    expect(outcomes()).toEqual([[1, 'DUPLICATE', 'DUPLICATE_ID']])
    await toMinute(61)
    expect(ids()).toEqual([1])
  })

  test('that was sent before', async () => {
    const { wait, put, toMinute, ids, outcomes } = await startWorld()
    put('bulk', commandsFrom(1, 1))
    wait(1, 1, 60)
    await toMinute(61)
    expect(ids()).toEqual([1])
    expect(
      outcomes()
        .map(([, outcome]) => outcome)
        .toSorted(),
    ).toEqual(['DUPLICATE', 'SENT'])
  })

  test('that was sent at its time', async () => {
    const { wait, toMinute, ids, outcomes, takeOver } = await startWorld()
    wait(1, 1, 60)
    await toMinute(61)
    await takeOver()
    wait(1, 1, 0)
    wait(1, 1, 30)
    await toMinute(100)
    expect(ids()).toEqual([1])
    expect(outcomes().map(([, outcome]) => outcome)).toEqual(['SENT', 'DUPLICATE', 'DUPLICATE'])
  })

  test('that expired unsent: another one with it is sent', async () => {
    const { wait, toMinute, ids, control, at } = await startWorld()
    control(buildPause({ kind: 'account', name: 'default' }))
    wait(1, 1, 60, { deadline: at(61) })
    await toMinute(62)
    control(buildResume({ kind: 'account', name: 'default' }))
    await toMinute(63)
    wait(1, 1, 10)
    await toMinute(80)
    expect(ids()).toEqual([1])
  })
})

describe('a due time meets a clock', () => {
  test('that is set back after the release: each waits again by the clock of the next process, and is sent once', async () => {
    const { wait, toMinute, ids, control, clock, takeOver, outcomes } = await startWorld()
    const account = { kind: 'account', name: 'default' } as const
    control(buildPause(account))
    wait(1, 3, 60)
    await toMinute(61)
    await takeOver({ meanwhile: () => clock.step(-30 * minute) })
    control(buildResume(account))
    await toMinute(89)
    expect(ids()).toEqual([])
    await toMinute(91)
    expect(sorted(ids())).toEqual([1, 2, 3])
    expect(outcomes()).toEqual(numbersFrom(1, 3).map(id => [id, 'SENT', null]))
  })

  test('that is set forward: each is sent once, as soon as the worker looks at it again', async () => {
    const { wait, toMinute, ids, clock } = await startWorld()
    wait(1, 3, 60)
    await toMinute(10)
    clock.step(50 * minute)
    await toMinute(10.1)
    expect(sorted(ids())).toEqual([1, 2, 3])
    clock.step(-50 * minute)
    await toMinute(70)
    expect(sorted(ids())).toEqual([1, 2, 3])
  })
})

describe('a due time meets a deadline', () => {
  test('of the same instant: it is sent then, or expires, and never later', async () => {
    const { wait, toMinute, outcomes, sentAt, at } = await startWorld()
    wait(1, 1, 60, { deadline: at(60) })
    await toMinute(62)
    expect(outcomes()).toMatchObject([[1, expect.stringMatching(/SENT|EXPIRED/), expect.anything()]])
    for (const one of sentAt()) expect(one.at).toBeLessThanOrEqual(hour)
  })

  test('two seconds later: it is sent', async () => {
    const { wait, toMinute, outcomes, at } = await startWorld()
    wait(1, 1, 60, { deadline: at(60) + 2_000 })
    await toMinute(62)
    expect(outcomes()).toEqual([[1, 'SENT', null]])
  })
})
