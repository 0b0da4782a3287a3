import { describe, expect, test } from 'vitest'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord } from '../support/bus.ts'
import { settled } from '../support/clock.ts'
import { buildGroup, openGroup } from '../support/group.ts'
import { buildLog, commitDueMs, result } from '../support/sessions.ts'

const broken = new Error('the coordinator is loading')

test('a process that is no longer a member takes nothing over, because it could fence its successor', async () => {
  const { commit, clock, drivers, lease, logs, deliver, listener, acquire } = await openGroup(1)
  logs[0]!.append(1)
  deliver(0)
  const before = drivers[0]!.length
  lease.holds = false
  void listener.session().intend([0])
  await commit('failed')
  await clock.pass(5_000)
  expect(drivers[0]).toHaveLength(before)
  lease.holds = true
  await clock.pass(1_000)
  expect(drivers[0]).toHaveLength(before + 1)
  await acquire([0])
  deliver(0)
  expect(listener.freshKeys).toEqual(['0', '0'])
})

describe('an assigned partition', () => {
  test('is paused at once, taken over, and read from its checkpoint on', async () => {
    const { ownership, tps, logs, listener, acquire, deliver, driverOf, told } = await buildGroup(1)
    logs[0]!.append(5)
    logs[0]!.committed = { offset: 3, metadata: null }
    ownership.assigned(tps, true)
    expect(driverOf(0).paused).toBe(true)
    await settled()
    expect(listener.sessions.size).toBe(0)
    await acquire([0])
    expect(told).toEqual(['session.opened 0'])
    expect(driverOf(0)).toMatchObject({ paused: false, seeks: [3] })
    deliver(0)
    expect(listener.freshKeys).toEqual(['3', '4'])
  })

  test('is reported if its listener refuses it, and ends the process if the listener cannot close it', async () => {
    const { listener, told, open } = await buildGroup(1)
    const refuse = () => {
      throw new Error('no such topic')
    }
    Object.assign(listener, { opened: refuse, closed: refuse })
    await open()
    expect(told).toEqual(['session.openFailed 0', 'session.closed 0'])
    expect(listener.fatals).toMatchObject([{ message: 'no such topic' }])
  })

  test('reports each cause of a failed opening once, and again after it was open', async () => {
    const { clock, assign, acquire, listener, commit, told } = await buildGroup(1)
    const failWith = async (cause: string) => {
      await acquire([0], new Error(cause))
      await clock.pass(500)
    }
    await assign(0)
    for (const cause of ['away', 'refused', 'away', 'refused']) await failWith(cause)
    await acquire([0])
    expect(told).toEqual(['session.openFailed 0', 'session.openFailed 0', 'session.opened 0'])
    listener.session().settle(0, [buildRecord('results', '0')])
    await commit('failed')
    await clock.pass(200)
    await failWith('away')
    expect(told.slice(3)).toEqual(['session.lost 0', 'session.closed 0', 'session.openFailed 0'])
  })
})

describe('a session that is lost', () => {
  test('is closed, and reopened at its last commit', async () => {
    const { logs, listener, told, driverOf, deliver, commit, reopen } = await openGroup(1)
    logs[0]!.append(3)
    deliver(0)
    const first = listener.session()
    first.settle(0, [buildRecord('results', '0')])
    await commit()
    first.settle(1, [buildRecord('results', '1')])
    const lost = driverOf(0)
    await commit('failed')
    expect(told.slice(1)).toEqual(['session.lost 0', 'session.closed 0'])
    expect([listener.sessions.size, lost.paused]).toEqual([0, true])
    await reopen()
    deliver(0)
    expect(listener.session()).not.toBe(first)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '1', '2'])
  })

  test('is reopened at its last commit although the broker has lost that, and remembers an earlier one', async () => {
    const { logs, listener, ownership, tps, deliver, commit, reopen } = await openGroup(1)
    logs[0]!.append(3)
    deliver(0)
    listener.session().settle(0, [])
    await commit()
    const { committed } = logs[0]!
    listener.session().settle(1, [])
    await commit()
    logs[0]!.committed = committed
    ownership.gone(tps[0]!, new Error('the broker has restarted'))
    await reopen()
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '2'])
  })

  test('is not reopened if its partition is revoked meanwhile', async () => {
    const { clock, logs, listener, deliver, commit, assign, drivers, told } = await openGroup(1)
    logs[0]!.append(1)
    deliver(0)
    listener.session().settle(0, [])
    await commit('failed')
    const count = drivers[0]!.length
    await assign()
    expect(clock.pending).toBe(0)
    await clock.pass(10_000)
    expect(drivers[0]).toHaveLength(count)
    expect(told).toEqual(['session.opened 0', 'session.lost 0', 'session.closed 0'])
  })
})

describe('after a rebalance, a partition', () => {
  test.each([null, broken])(
    'that was revoked while it was being opened never opens, whether that succeeds or fails (%s)',
    async error => {
      const { assign, acquire, listener, told, clock, drivers } = await buildGroup(1)
      await assign(0)
      await assign()
      await acquire([0], error)
      await clock.pass(10_000)
      expect([listener.sessions.size, told, drivers[0]!.length]).toEqual([0, [], 2])
    },
  )

  test('that was revoked while it was being opened is told of no loss', async () => {
    const log = buildLog(9)
    log.committed = { offset: 0, metadata: '1;another process;9;' }
    log.cut(4)
    const { assign, acquire, cuts } = await buildGroup(1, { logs: [log], known: true })
    await assign(0)
    await assign()
    await acquire([0])
    expect(cuts).toEqual([])
  })

  test('that was revoked and assigned again while it was being opened is opened once', async () => {
    const { assign, drivers, listener, told } = await buildGroup(1)
    await assign(0)
    await assign()
    await assign(0)
    for (const driver of drivers[0]!) driver.acquired()
    await settled()
    expect([listener.sessions.size, told]).toEqual([1, ['session.opened 0']])
  })

  test('that stays keeps its session, but is reopened if the process missed a generation', async () => {
    const { assign, assignAfterGap, acquire, listener, told } = await openGroup(1)
    const first = listener.session()
    await assign(0)
    expect(listener.session()).toBe(first)
    await assignAfterGap(0)
    expect([first.alive, told.at(-1)]).toEqual([false, 'session.closed 0'])
    await acquire([0])
    expect(listener.session()).not.toBe(first)
  })

  test('that was revoked is closed with its session, and the others stay open', async () => {
    const { assign, listener, told, ownership } = await openGroup(2)
    const kept = listener.session(1)
    await assign(1)
    expect([...listener.sessions]).toEqual([[1, kept]])
    expect(told.slice(2)).toEqual(['session.closed 0'])
    expect(ownership.share()).toEqual({ owned: 1, total: 2 })
  })
})

test('a batch of a partition that is not owned, or not open, is ignored', async () => {
  const { logs, listener, deliver, assign, driverOf, ownership, tps } = await buildGroup(1)
  logs[0]!.append(1)
  ownership.batch({ ...tps[0]!, fetchedOffset: 0, records: logs[0]!.records, nextOffset: 1, highWatermark: 1 })
  await assign(0)
  deliver(0)
  expect(listener.freshKeys).toEqual([])
  driverOf(0).acquired()
  await settled()
  deliver(0)
  expect(listener.freshKeys).toEqual(['0'])
})

test('a session that is opened during a re-join may not begin a POST before its end', async () => {
  const { logs, listener, deliver, commit, ownership, tps, reopen } = await openGroup(1)
  logs[0]!.append(1)
  deliver(0)
  listener.session().settle(0, [])
  await commit('failed')
  await ownership.joining()
  await reopen()
  expect(listener.session().open).toBe(false)
  ownership.assigned(tps, true)
  expect(listener.session().open).toBe(true)
})

describe('a result that comes after the process lost its membership', () => {
  /** The answer to a POST comes after its session and the lease were lost. */
  async function answeredWithoutLease() {
    const group = await openGroup(1)
    const { logs, listener, deliver, commit, lease, clock } = group
    logs[0]!.append(2)
    deliver(0)
    const session = listener.session()
    const intended = session.intend([0])
    await commit()
    expect(await intended).toBe(true)
    lease.holds = false
    session.settle(1, [])
    await commit('failed')
    session.settle(0, result(0))
    await clock.pass(1_000)
    expect(listener.sessions.size).toBe(0)
    return group
  }

  test('does not delay a join, and is committed when the partition is assigned again', async () => {
    const { ownership, acquire, commit, logs, tps, lease } = await answeredWithoutLease()
    await ownership.joining() // nothing can be committed without a membership
    lease.holds = true
    ownership.assigned(tps, false)
    await settled()
    await acquire([0])
    await commit()
    expect(logs[0]!.published).toEqual(result(0))
  })

  test('is committed during a leave if the partition is assigned again', async () => {
    const { ownership, acquire, commit, logs, clock, leaving, tps, lease, listener } = await answeredWithoutLease()
    const left = ownership.leave(30_000)
    lease.holds = true
    ownership.assigned(tps, false)
    await settled()
    await acquire([0])
    await commit()
    expect(logs[0]!.published).toEqual(result(0))
    expect(listener.session().open).toBe(false)
    await clock.pass(50)
    expect(leaving.begun).toBe(true)
    leaving.end()
    await left
  })
})

test.each([1, 2])(
  'a process that leaves with %d outcomes that it could not commit says how many its successor will doubt',
  async count => {
    const { ownership, logs, listener, deliver, commit, lease, clock, leaving, logged, sharedCommits } =
      await openGroup(1)
    logs[0]!.append(2)
    deliver(0)
    const intended = listener.session().intend(Array.from({ length: count }, (_, i) => i))
    await commit()
    await intended
    lease.holds = false
    await ownership.joining()
    listener.session().settle(0, result(0))
    const before = sharedCommits.began.length
    const left = ownership.leave(1_000)
    await clock.pass(2_000)
    leaving.end()
    await left
    const message = `the outcomes of ${count} requests were not committed in time: `
    expect(logged).toEqual([expect.stringContaining(message)])
    expect(sharedCommits.began).toHaveLength(before)
  },
)

test('a process that leaves opens no partition any more, however long that takes', async () => {
  const { clock, assign, acquire, ownership, drivers, leaving, told } = await buildGroup(2)
  await assign(0)
  await acquire([0], broken)
  const left = ownership.leave()
  await assign(0, 1)
  await clock.pass(1_000)
  expect(told).toEqual(['session.openFailed 0'])
  expect(drivers.map(made => made.filter(({ epoch }) => epoch > 0).length)).toEqual([1, 0])
  leaving.end()
  await left
  expect(clock.pending).toBe(0)
})

test('the state of each owned partition can be read, whether it is open or not', async () => {
  const { logs, deliver, ownership, commit, assign, acquire } = await buildGroup(2)
  await assign(0, 1)
  await acquire([0])
  await commit()
  logs[0]!.append(82)
  deliver(0)
  const topic = 'commands'
  expect([...ownership.sessions()]).toEqual([
    { topic, partition: 0, open: true, lag: 82, windowUsed: 82 / 8192, committing: false },
    { topic, partition: 1, open: false, lag: 0, windowUsed: 0, committing: false },
  ])
  expect(ownership.hasLease()).toBe(true)
})

test('a partition whose session is lost counts as not open, without lag', async () => {
  const { logs, deliver, listener, ownership, commit } = await openGroup(1)
  await commit()
  logs[0]!.append(3)
  deliver(0)
  listener.session().settle(0, [])
  await commit('failed')
  expect([...ownership.sessions()]).toEqual([
    { topic: 'commands', partition: 0, open: false, lag: 0, windowUsed: 0, committing: false },
  ])
})

test('what keeps the process from its partitions is what the group says of it', async () => {
  const { ownership, driver } = await buildGroup(1)
  Object.assign(driver.member, { trouble: 'no coordinator', unread: ['otp is not read'] })
  Object.assign(driver, { unread: () => ['commands/0 cannot be read'] })
  expect([ownership.trouble(), ownership.unread()]).toEqual([
    'no coordinator',
    ['otp is not read', 'commands/0 cannot be read'],
  ])
})

test('operators are told where a session begins, what it found, and how long that and each commit took', async () => {
  const telemetry = new Telemetry()
  const told: unknown[] = []
  for (const name of ['session.opened', 'session.foreignOffset', 'commit.confirmed', 'cycle.committed'] as const)
    telemetry.on(name, (event: object) => told.push({ name, ...event }))
  const log = buildLog(4)
  log.committed = { offset: 1, metadata: null }
  const { assign, acquire, clock, listener, deliver, sharedCommits } = await buildGroup(1, { telemetry, logs: [log] })
  await assign(0)
  await clock.pass(1_500)
  await acquire([0])
  const at = { topic: 'commands', partition: 0 }
  const found = { committed: 1, inDoubt: 0, stale: false }
  expect(told.splice(0)).toEqual([
    { name: 'session.opened', ...at, offset: 1, ...found, took: 1.5 },
    { name: 'session.foreignOffset', ...at, offset: 1 },
  ])
  deliver(0)
  for (const offset of [1, 3]) listener.session().settle(offset, result(offset))
  await clock.pass(commitDueMs)
  await clock.pass(250 - 4)
  sharedCommits.end()
  await settled()
  expect(told).toEqual([
    { name: 'commit.confirmed', partitions: 1, records: 2, seconds: expect.closeTo(0.25, 1) },
    { name: 'cycle.committed', ...at, records: 2, windowUsed: 2 / 8192 },
  ])
})

test('logs are read with the look-back of their topic, and whole where the listener knows all results', async () => {
  const log = buildLog(9)
  log.committed = { offset: 5, metadata: '1;another process;8;' }
  const lookBack = (topic: string) => (topic === 'commands' ? 2 : 0)
  const { driverOf } = await openGroup(1, { logs: [log], known: true, lookBack })
  expect(driverOf(0).seeks).toEqual([3])
  log.committed = { offset: 5, metadata: '' }
  const whole = await openGroup(1, { logs: [log], known: true, readsAll: topic => topic === 'commands' })
  expect(whole.driverOf(0).seeks).toEqual([0])
})

test('the logs of partitions with unfinished records are looked at each five seconds, one look after the other', async () => {
  const { logs, deliver, clock, driver, ownership, commit, listener } = await openGroup(2)
  await commit()
  let answer = async (partition: number) => ({ ...logs[partition]!.ends })
  const asked: [at: number, partition: number][] = []
  driver.ends = async tp => {
    asked.push([clock.elapsed, tp.partition])
    return { ...tp, ...(await answer(tp.partition)) }
  }
  logs[0]!.append(3)
  deliver(0)
  await clock.pass(5_000 - clock.elapsed)
  answer = async () => {
    throw new Error('there is no leader')
  }
  await clock.pass(5_000)
  const slow = Promise.withResolvers<{ low: number; high: number }>()
  answer = () => slow.promise
  await clock.pass(20_000)
  expect(asked).toEqual([5_000, 10_000, 15_000].map(at => [at, 0]))
  logs[0]!.append(2)
  slow.resolve(logs[0]!.ends)
  await clock.pass(0)
  expect([...ownership.sessions()].map(({ lag }) => lag)).toEqual([5, 0])
  expect(listener.session(0).alive).toBe(true)
})

describe('a process that leaves', () => {
  /** Notes what it does, in order. */
  async function setUp() {
    const group = await openGroup(1)
    await group.commit()
    const did: string[] = []
    const { member } = group.driver
    const { leave } = member
    Object.assign(member, {
      retire: () => did.push('retires'),
      leave() {
        did.push('leaves')
        return leave()
      },
    })
    Object.assign(group.driver, { close: () => did.push('stops reading') })
    Object.assign(group.listener, { held: () => did.push('begins no request'), closed: () => did.push('closes') })
    group.logs[0]!.append(2)
    group.deliver(0)
    return { ...group, did }
  }

  test('gives up its lease, waits for requests in flight, commits their results at once, leaves, and closes', async () => {
    const { ownership, listener, commit, clock, did, leaving, sharedCommits, logs, tps } = await setUp()
    const session = listener.session()
    const intended = session.intend([0])
    await commit()
    await intended
    let isOver = false
    const left = ownership.leave().finally(() => {
      isOver = true
    })
    ownership.assigned(tps, true)
    expect(session.open).toBe(false)
    await clock.pass(1_000)
    expect(did).toEqual(['retires', 'begins no request'])
    session.settle(0, result(0))
    await clock.pass(20)
    sharedCommits.end()
    await clock.pass(10)
    expect(logs[0]!.published).toEqual(result(0))
    expect([did.slice(2), isOver]).toEqual([['leaves'], false])
    leaving.end()
    await left
    expect(did.slice(2)).toEqual(['leaves', 'closes', 'stops reading'])
    expect(clock.pending).toBe(0)
  })

  test('with nothing in flight leaves at once', async () => {
    const { ownership, clock, leaving, did, logged } = await setUp()
    leaving.end()
    await ownership.leave()
    expect(did).toEqual(['retires', 'begins no request', 'leaves', 'closes', 'stops reading'])
    expect([clock.pending, logged]).toEqual([0, []])
  })
})

describe('the listener hears at once', () => {
  /** Collects the number of owned partitions at each call of `shareChanged`. */
  function collectShares({ listener, ownership }: Awaited<ReturnType<typeof buildGroup>>): number[] {
    const owned: number[] = []
    Object.assign(listener, { shareChanged: () => owned.push(ownership.share().owned) })
    return owned
  }

  test('that a partition was revoked while its session was being reopened', async () => {
    const group = await openGroup(2)
    const { listener, commit, assign } = group
    listener.session(1).settle(0, [])
    await commit('failed')
    const owned = collectShares(group)
    await assign(0)
    expect(owned.at(-1)).toBe(1)
  })

  test('that partitions were lost to another process, even if they are assigned again at once', async () => {
    const group = await openGroup(3)
    const { ownership, clock, tps } = group
    const owned = collectShares(group)
    void ownership.joining()
    await clock.pass(20_000)
    ownership.assigned(tps.slice(0, 2), false)
    expect(owned).toEqual([0, 2])
  })

  test('that all partitions are gone when its process leaves the group', async () => {
    const group = await openGroup(2)
    await group.commit()
    const owned = collectShares(group)
    const left = group.ownership.leave()
    group.leaving.end()
    await left
    expect(owned).toEqual([0])
  })
})

test('a busy partition uses the memory that idle ones leave, but not their guaranteed share', async () => {
  const group = await openGroup(4, { backlog: { records: 80, bytes: 1 << 30 } })
  const { logs, listener, deliver, driverOf, assign, commit } = group
  const isPausedAfter = (partition: number, records: number) => {
    logs[partition]!.append(records)
    deliver(partition)
    return driverOf(partition).paused
  }
  expect([isPausedAfter(0, 29), isPausedAfter(0, 1)]).toEqual([false, true])
  expect([isPausedAfter(1, 9), isPausedAfter(1, 1)]).toEqual([false, true])
  await assign(1, 2, 3)
  listener.session(1).settle(0, [])
  await commit()
  expect([driverOf(1).paused, isPausedAfter(1, 15)]).toEqual([false, false])
})
