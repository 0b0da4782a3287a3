import { describe, expect, test } from 'vitest'
import { BusUnavailable } from '../../src/bus/port.ts'
import { hasLoss } from '../../src/bus/session/lost-offsets.ts'
import { windowSize } from '../../src/bus/session/window.ts'
import type { Events } from '../../src/telemetry/events.ts'
import { buildRecord } from '../support/bus.ts'
import { ManualClock, settled } from '../support/clock.ts'
import { buildGroup } from '../support/group.ts'
import { buildLog, buildOwner, commitDueMs, intend, type PartitionLog, result } from '../support/sessions.ts'

const broken = new Error('the coordinator is loading')

/** A group that owns all of its partitions, open. */
async function openGroup(count: number, options: Parameters<typeof buildGroup>[1] = {}) {
  const group = await buildGroup(count, options)
  const all = group.tps.map(({ partition }) => partition)
  await group.assign(...all)
  await group.acquire(all)
  return group
}

describe('a bus that tells an older checkpoint than it had confirmed', () => {
  test('is not believed while the partition stays owned: nothing is delivered as new again', async () => {
    const group = await openGroup(1)
    const { logs, listener, deliver, commit, acquire, clock } = group
    logs[0]!.append(3)
    deliver(0)
    const session = listener.session()
    const intended = session.intend([0, 1])
    await commit()
    expect(await intended).toBe(true)
    const old = logs[0]!.committed
    session.settle(0, [buildRecord('results', '0')])
    session.settle(1, [buildRecord('results', '1')])
    await commit()
    session.settle(2, [buildRecord('results', '2')])
    logs[0]!.committed = old
    await commit('failed')
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '2'])
    expect(logs[0]!.published.map(({ key }) => String(key))).toEqual(['0', '1'])
  })

  test('is believed once the partition had to be given up: another owner may have moved it', async () => {
    const { logs, listener, deliver, commit, acquire, assign } = await openGroup(1)
    logs[0]!.append(2)
    deliver(0)
    listener.session().settle(0, [buildRecord('results', '0')])
    await commit()
    await assign()
    logs[0]!.committed = { offset: 2, metadata: null }
    await assign(0)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1'])
  })
})

test('a process that the group has put out takes nothing over, as it would fence the one that has its name', async () => {
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

describe('an owner in between', () => {
  /** A has sent 0, then B owned the partition and sent 1 to 3, all confirmed; nobody told A of it. */
  async function ownedInBetween() {
    const group = await openGroup(1)
    const { logs, listener, deliver, commit } = group
    logs[0]!.append(5)
    deliver(0)
    const intended = listener.session().intend([0])
    await commit()
    expect(await intended).toBe(true)
    listener.session().settle(0, [])
    await commit()
    const other = buildOwner(logs[0]!, { tag: 'process B' })
    const b = await other.open()
    b.deliver()
    expect(other.listener.freshKeys).toEqual(['1', '2', '3', '4'])
    expect(await intend(b, 1, 2, 3)).toBe(true)
    for (const offset of [1, 2, 3]) b.session.settle(offset, [])
    await b.commit()
    b.session.close()
    return { ...group, before: listener.freshKeys.length }
  }

  test('is believed by whoever gets the partition back a generation later: nothing is sent again', async () => {
    const { assignAfterGap, acquire, deliver, listener, before } = await ownedInBetween()
    await assignAfterGap(0)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys.slice(before)).toEqual(['4'])
  })

  test('is believed even by a session that was kept, once its next commit is refused', async () => {
    const { clock, commit, acquire, deliver, listener, before } = await ownedInBetween()
    const intended = listener.session().intend([1])
    await commit()
    expect(await intended).toBe(false)
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys.slice(before)).toEqual(['4'])
  })
})

/** What is told of a log that was cut. */
const lost = (how: Partial<Events['log.cut']>): Events['log.cut'] => ({
  topic: 'commands',
  partition: 0,
  unsent: 0,
  unsentOffsets: '',
  perhapsSent: 0,
  isEnd: false,
  ...how,
})

describe('a log that was cut', () => {
  test('at its beginning, while it was read: goes on there, keeps its window, and tells how much is gone', async () => {
    const { logs, deliver, ownership, tps, listener, commit, cuts } = await openGroup(1)
    logs[0]!.append(3)
    deliver(0)
    listener.session().settle(1, [])
    logs[0]!.append(5)
    logs[0]!.cut(6)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '6', '7'])
    expect(cuts).toEqual([lost({ unsent: 3, unsentOffsets: '3-5' })])
    for (const offset of [0, 2]) listener.session().settle(offset, [])
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 6 })
  })

  test('takes with it what was forgotten to make room, and the rest of that comes again', async () => {
    const { logs, deliver, ownership, tps, listener, commit, cuts } = await openGroup(1)
    logs[0]!.append(6)
    deliver(0)
    const session = listener.session()
    session.shelve([1, 4])
    session.recall([1, 4])
    logs[0]!.cut(3)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    deliver(0)
    expect(listener.recalledKeys).toEqual(['4'])
    expect(cuts).toEqual([lost({ unsent: 1, unsentOffsets: '1' })])
    logs[0]!.append(1)
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '3', '4', '5', '6'])
    for (const offset of [0, 2, 3]) session.settle(offset, [])
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 4 })
  })

  test('under what is shelved is told of at once, in one event, though nothing is read: what is in memory stays', async () => {
    const { logs, deliver, listener, commit, cuts, clock, driverOf } = await openGroup(1)
    await commit()
    logs[0]!.append(4_000)
    deliver(0)
    const session = listener.session()
    session.shelve(Array.from({ length: 3_900 }, (_, i) => 100 + i))
    logs[0]!.append(windowSize - 4_000)
    deliver(0)
    expect(driverOf(0).paused).toBe(true)
    logs[0]!.append(39_000 - windowSize)
    logs[0]!.cut(39_000)
    await clock.pass(5_000)
    expect(cuts).toEqual([lost({ unsent: 3_900 + 39_000 - windowSize, unsentOffsets: '100-3999, 8192-38999' })])
    expect(listener.cuts).toEqual([39_000])
    await commit()
    await clock.pass(20_000)
    expect(cuts).toHaveLength(1)
    for (let offset = 0; offset < 7_000; offset++) session.settle(offset, [])
    await commit()
    for (let offset = 7_000; offset < windowSize; offset++) session.settle(offset, [])
    await commit()
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 39_000 })
    logs[0]!.append(1)
    deliver(0)
    expect(listener.freshKeys.at(-1)).toBe('39000')
  })

  test('counts what is appended to the lag, though too much waits for anything to be read', async () => {
    const { logs, deliver, clock, ownership, commit } = await openGroup(1)
    await commit()
    logs[0]!.append(windowSize + 10)
    deliver(0)
    logs[0]!.append(500)
    await clock.pass(5_000)
    expect([...ownership.sessions()]).toMatchObject([{ lag: windowSize + 510 }])
  })

  test('tells apart what another process may have sent from what nobody did', async () => {
    const log = buildLog(0)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    await other.commit()
    log.append(9)
    other.deliver()
    other.session.settle(0, [])
    expect(await intend(other, 2, 3, 6)).toBe(true)
    log.cut(8)
    const { assign, acquire, deliver, listener, cuts, told } = await buildGroup(1, { logs: [log], known: true })
    await assign(0)
    await acquire([0])
    deliver(0)
    expect(cuts).toEqual([lost({ unsent: 4, unsentOffsets: '1, 4-5, 7', perhapsSent: 3 })])
    expect([listener.freshKeys, listener.doubtedKeys, told]).toEqual([['8'], [], ['session.opened 0']])
  })

  test('of a topic whose records tell of what was sent: nothing of it is said to be not sent', async () => {
    const log = buildLog(9)
    log.committed = { offset: 0, metadata: '1;another process;9;' }
    log.cut(4)
    const { assign, acquire, cuts } = await buildGroup(1, { logs: [log], known: true, mayBeSent: () => true })
    await assign(0)
    await acquire([0])
    expect(cuts).toEqual([lost({ perhapsSent: 4 })])
  })

  test('beyond what was committed, before it was taken over: what is gone is counted, the rest of the window stays', async () => {
    const log = buildLog(9)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    other.deliver()
    for (const offset of [1, 5]) other.session.settle(offset, [])
    await other.commit()
    log.cut(4)
    const { assign, acquire, deliver, listener, cuts } = await buildGroup(1, { logs: [log], known: true })
    await assign(0)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['4', '6', '7', '8'])
    expect(cuts).toEqual([lost({ perhapsSent: 3 })]) // a group without progress: the results know
  })

  test('before it was taken over is committed at once: whoever takes it over next counts nothing twice', async () => {
    const log = buildLog(9)
    log.committed = { offset: 0, metadata: '1;another process;9;' }
    log.cut(4)
    const { assign, assignAfterGap, acquire, commit, cuts } = await buildGroup(1, { logs: [log], known: true })
    await assign(0)
    await acquire([0])
    await commit()
    await assignAfterGap(0)
    await acquire([0])
    expect(cuts).toEqual([lost({ unsent: 4, unsentOffsets: '0-3' })])
    expect(log.committed).toMatchObject({ offset: 4 })
  })

  test('at its end is believed after some seconds, and begins anew as far back as commands are young enough', async () => {
    const log = buildLog(6)
    log.committed = { offset: 6, metadata: '1;another process;9;' }
    log.truncate(3)
    const group = await buildGroup(1, { logs: [log], known: true, lookBackMs: 1_000 })
    await group.assign(0)
    await group.acquire([0])
    expect(group.told).toEqual(['session.openFailed 0'])
    while (group.listener.sessions.size === 0) {
      await group.clock.pass(500)
      await group.acquire([0])
    }
    expect(group.clock.monotonic()).toBeGreaterThanOrEqual(5_000)
    expect(group.cuts).toEqual([lost({ isEnd: true })]) // all of it was done
    log.append(1)
    group.deliver(0)
    expect(group.listener.freshKeys).toEqual(['3']) // the others are from 1970
  })

  test('at its end forgets what was said of records that are gone: others come at their offsets', async () => {
    const log = buildLog(6)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    other.deliver()
    for (const offset of [1, 4, 5]) other.session.settle(offset, [])
    await other.commit()
    log.truncate(4)
    const group = await buildGroup(1, { logs: [log], known: true })
    await group.assign(0)
    await group.acquire([0])
    while (group.listener.sessions.size === 0) {
      await group.clock.pass(500)
      await group.acquire([0])
    }
    log.append(2)
    group.deliver(0)
    expect(group.listener.freshKeys).toEqual(['0', '2', '3', '4', '5'])
  })

  /** Offsets 1 to 8 are done with; then the log ends at 6, and at once others come at 6 to 9. */
  async function cutWhileRead() {
    const group = await openGroup(1)
    const { logs, listener, deliver, commit, acquire, clock, ownership, tps } = group
    await commit()
    logs[0]!.append(9)
    deliver(0)
    for (let offset = 1; offset < 9; offset++) listener.session().settle(offset, [])
    await commit()
    logs[0]!.truncate(6)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    logs[0]!.append(4)
    await clock.pass(200)
    await acquire([0])
    return group
  }

  test('at its end while it was read is cut for sure, however soon others come at the offsets that are gone', async () => {
    const { listener, deliver, cuts } = await cutWhileRead()
    deliver(0)
    expect(cuts).toEqual([lost({ isEnd: true })])
    expect(listener.freshKeys.slice(9)).toEqual(['0', '6', '7', '8', '9'])
    expect(listener.session().uncheckedUntil).toBe(9) // a leader that hid them for a moment loses nothing either
  })

  test('at its end while it was read is remembered until it is committed', async () => {
    const { listener, deliver, commit, acquire, clock } = await cutWhileRead()
    await commit('failed')
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys.slice(9)).toEqual(['0', '6', '7', '8', '9'])
  })

  test('at its end while it was read is told once: what is done after that stays done', async () => {
    const { listener, deliver, commit, acquire, clock, cuts } = await cutWhileRead()
    deliver(0)
    await commit()
    for (const offset of [6, 7, 8, 9]) listener.session().settle(offset, [])
    await commit()
    listener.session().settle(0, [])
    await commit('failed')
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(cuts).toEqual([lost({ isEnd: true })])
    expect(listener.freshKeys.slice(14)).toEqual(['0'])
  })

  test('at its end a second time, before the first was committed, is not taken for as long as it was then', async () => {
    const { logs, listener, deliver, commit, acquire, clock, cuts } = await cutWhileRead()
    logs[0]!.truncate(4)
    await commit('failed')
    while (listener.sessions.size === 0) {
      await clock.pass(500)
      await acquire([0])
    }
    logs[0]!.append(5)
    deliver(0)
    expect(cuts).toEqual([lost({ isEnd: true }), lost({ isEnd: true })])
    expect(listener.freshKeys.slice(9)).toEqual(['0', '4', '5', '6', '7', '8'])
  })

  test('and found while a commit was under way, is remembered though that ends well', async () => {
    const { logs, listener, deliver, commit, acquire, clock, cuts, ownership, tps, sharedCommits } = await openGroup(1)
    await commit()
    logs[0]!.append(9)
    deliver(0)
    for (let offset = 1; offset < 9; offset++) listener.session().settle(offset, [])
    await clock.pass(commitDueMs)
    logs[0]!.truncate(6)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    sharedCommits.end()
    logs[0]!.append(4)
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(cuts).toEqual([lost({ isEnd: true })])
    expect(listener.freshKeys.slice(9)).toEqual(['0', '6', '7', '8', '9'])
  })

  test('at its end and believed after some seconds is remembered until that is committed', async () => {
    const log = buildLog(6)
    log.committed = { offset: 6, metadata: '1;another process;9;' }
    log.truncate(3)
    const group = await buildGroup(1, { logs: [log], known: true })
    await group.assign(0)
    while (group.listener.sessions.size === 0) {
      await group.clock.pass(500)
      await group.acquire([0])
    }
    log.append(5)
    await group.commit('failed')
    await group.clock.pass(200)
    await group.acquire([0])
    group.deliver(0)
    expect(group.listener.freshKeys).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
  })

  test('takes no answer with it, and has none published twice where the commit that did is not answered', async () => {
    const log = buildLog(3)
    const owner = buildOwner(log)
    const first = await owner.open()
    first.deliver()
    expect(await intend(first, 0, 1)).toBe(true)
    log.truncate(0)
    const second = await owner.open()
    first.session.settle(0, result(0))
    await second.commit('failed')
    const third = await owner.open()
    await third.commit('lost answer')
    const fourth = await owner.open()
    first.session.settle(1, result(1))
    await fourth.commit()
    expect(log.published).toEqual([result(0), result(1)].flat())
    expect(owner.ledger.size).toBe(0)
  })

  test('takes no answer with it: what came of a command that is gone is published all the same', async () => {
    for (const cut of [
      (log: ReturnType<typeof buildLog>) => log.cut(3),
      (log: ReturnType<typeof buildLog>) => log.truncate(0),
    ]) {
      const log = buildLog(3)
      const owner = buildOwner(log)
      const first = await owner.open()
      first.deliver()
      expect(await intend(first, 0, 1, 2)).toBe(true)
      first.session.settle(0, result(0))
      await first.commit('failed')
      first.session.settle(1, result(1)) // while no session is open
      cut(log)
      const second = await owner.open()
      expect(owner.lost.filter(hasLoss)).toEqual([])
      log.append(3)
      second.deliver()
      const { offset } = log.records[0]!
      expect(await intend(second, offset)).toBe(true) // another one, in a place that is perhaps the same
      first.session.settle(2, result(2))
      await second.commit()
      expect(log.published).toEqual([result(0), result(1), result(2)].flat())
      expect(owner.ledger.size).toBe(1)
      second.session.settle(offset, result(offset))
      await second.commit()
      expect([log.published.length, owner.ledger.size]).toEqual([4, 0])
    }
  })

  test('ends the process where kafka.onDataLoss says so, with what to do', async () => {
    const { logs, deliver, ownership, tps, listener } = await openGroup(1, { onDataLoss: 'fail' })
    logs[0]!.append(8)
    logs[0]!.cut(2)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    expect(listener.fatals[0]?.message).toMatch(
      /^2 offsets of commands\/0 disappeared.*kafka.onDataLoss is fail.*continue/,
    )
    deliver(0)
    expect(listener.fresh).toEqual([])
  })
})

describe('opening', () => {
  test('a partition that is assigned is paused at once, taken over, and read from its checkpoint on', async () => {
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

  test('that a listener refuses is told, and ends the process in order when it does not even let go of the session', async () => {
    const { assign, acquire, listener, told } = await buildGroup(1)
    const refuse = () => {
      throw new Error('no such topic')
    }
    Object.assign(listener, { opened: refuse, closed: refuse })
    await assign(0)
    await acquire([0])
    expect(told).toEqual(['session.openFailed 0', 'session.closed 0'])
    expect(listener.fatals).toMatchObject([{ message: 'no such topic' }])
  })

  test('is tried again half a second after it failed, for ever', async () => {
    const { clock, assign, acquire, drivers, listener, told } = await buildGroup(1)
    await assign(0)
    for (let i = 0; i < 20; i++) {
      await acquire([0], broken)
      const before = drivers[0]!.length
      await clock.pass(499)
      expect(drivers[0]).toHaveLength(before)
      await clock.pass(1)
      expect(drivers[0]).toHaveLength(before + 1)
    }
    await acquire([0])
    expect(told).toEqual(['session.openFailed 0', 'session.opened 0'])
    expect(listener.session().open).toBe(true)
  })

  test('tells each cause of a failure once, and again after it was open', async () => {
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

  test('a checkpoint of another program is told as the reason, and looked at again later', async () => {
    const { clock, logs, assign, acquire, told } = await buildGroup(1)
    logs[0]!.committed = { offset: 0, metadata: 'of another program' }
    await assign(0)
    await acquire([0])
    logs[0]!.committed = null
    await clock.pass(500)
    await acquire([0])
    expect(told).toEqual(['session.openFailed 0', 'session.opened 0'])
  })

  test.each([
    ['earliest', false, ['2', '3']],
    ['latest', false, []],
    ['latest', true, ['2', '3']],
    ['fail', true, ['2', '3']],
  ] as const)(
    'without a checkpoint: startFrom %s, the group has read the topic before: %s',
    async (startFrom, known, keys) => {
      const log = buildLog(4)
      log.records.splice(0, 2)
      log.low = 2
      const { assign, acquire, deliver, listener } = await buildGroup(1, { startFrom, known, logs: [log] })
      await assign(0)
      await acquire([0])
      deliver(0)
      expect(listener.freshKeys).toEqual(keys)
    },
  )

  test('a topic that is not empty is refused to a group that is new on it, unless it is told where to start', async () => {
    const clock = new ManualClock()
    const refused = buildGroup(2, { startFrom: 'fail', logs: [buildLog(0), buildLog(1)], clock })
    const expected = expect(refused).rejects.toThrow(
      /group busgate has no committed offset on commands, which is not empty.*correct it.*set kafka.startFrom to earliest/,
    )
    await clock.pass(5_000)
    await expected
    const { listener, assign, acquire } = await buildGroup(1, { startFrom: 'fail' })
    await assign(0)
    await acquire([0])
    expect(listener.session().open).toBe(true)
  })

  test('a topic that filled up while the group’s first members waited for each other is waited for, and not refused', async () => {
    const clock = new ManualClock()
    const logs = [buildLog(1), buildLog(1)]
    const starting = buildGroup(2, { startFrom: 'fail', logs, clock, members: () => true })
    await clock.pass(9_000)
    for (const log of logs) log.committed = { offset: 0, metadata: '1;process A;1;' }
    await clock.pass(1_000)
    const { assign, acquire, deliver, listener } = await starting
    await assign(0)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['0'])
  })

  test('a group whose members commit nothing is refused in the end', async () => {
    const clock = new ManualClock()
    const starting = buildGroup(1, { startFrom: 'fail', logs: [buildLog(1)], clock, members: () => true })
    const expected = expect(starting).rejects.toThrow(/no committed offset on commands, which is not empty/)
    await clock.pass(61_000)
    await expected
  })

  test.each(['earliest', 'latest', 'fail'] as const)(
    'a topic of which no partition can be seen is not taken for an empty one, with startFrom %s',
    async startFrom => {
      const starting = buildGroup(1, { startFrom, logs: [buildLog(5)], partitionsAtStart: 0 })
      await expect(starting).rejects.toThrow(BusUnavailable)
    },
  )

  test('a first start with startFrom earliest needs no leader of a partition', async () => {
    const { assign, acquire, deliver, listener } = await buildGroup(2, { withoutLeader: true, logs: [buildLog(1)] })
    await assign(0)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['0'])
  })

  test('a group that has its checkpoints needs no leader of a partition to start', async () => {
    const { assign, told, acquire } = await buildGroup(2, { known: true, withoutLeader: true })
    await assign(0, 1)
    await acquire([0])
    expect(told).toEqual(['session.opened 0'])
  })

  test('the place where a partition starts is committed at once, so that a restart does not choose anew', async () => {
    const { logs, assign, acquire, commit } = await buildGroup(1, { startFrom: 'latest', logs: [buildLog(4)] })
    await assign(0)
    await acquire([0])
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 4 })
  })

  test('with startFrom latest, what comes while the place cannot be committed is not passed over', async () => {
    const { logs, clock, assign, acquire, commit, deliver, listener } = await buildGroup(1, {
      startFrom: 'latest',
      logs: [buildLog(4)],
    })
    await assign(0)
    await acquire([0], broken)
    logs[0]!.append(1)
    await clock.pass(500)
    await acquire([0])
    logs[0]!.append(1)
    await commit('failed')
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['4', '5'])
  })

  test('a partition that was added later starts at its beginning, whatever kafka.startFrom says', async () => {
    const group = await buildGroup(2, { startFrom: 'latest', partitionsAtStart: 1, logs: [buildLog(2), buildLog(3)] })
    await group.assign(0, 1)
    await group.acquire([0, 1])
    group.deliver(0)
    group.deliver(1)
    expect(group.listener.freshKeys).toEqual(['0', '1', '2'])
  })

  test('with startFrom latest, a process does not begin before the group’s first member has told where', async () => {
    const clock = new ManualClock()
    const logs = [buildLog(2), buildLog(2)]
    const starting = buildGroup(2, { startFrom: 'latest', logs, clock, members: () => true })
    let hasBegun = false
    void starting.then(() => {
      hasBegun = true
    })
    await clock.pass(9_000)
    logs[0]!.committed = { offset: 1, metadata: '1;process A;1;' }
    await clock.pass(9_000)
    expect(hasBegun).toBe(false)
    logs[1]!.committed = { offset: 1, metadata: '1;process A;1;' }
    await clock.pass(1_000)
    const { assign, acquire, deliver, listener } = await starting
    await assign(0, 1)
    await acquire([0, 1])
    deliver(0)
    deliver(1)
    expect(listener.freshKeys).toEqual(['1', '1'])
  })

  test('with startFrom latest, a group whose members do not read the topic is waited for a minute', async () => {
    const clock = new ManualClock()
    const logs = [buildLog(2)]
    const starting = buildGroup(1, { startFrom: 'latest', logs, clock, members: () => true })
    await clock.pass(30_000)
    logs[0]!.append(1)
    await clock.pass(31_000)
    const { assign, acquire, deliver, listener } = await starting
    await assign(0)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys).toEqual(['2'])
  })

  test('with startFrom latest, partitions that another process has not opened yet are no added ones', async () => {
    const clock = new ManualClock()
    const logs = [buildLog(2), buildLog(2)]
    logs[0]!.committed = { offset: 2, metadata: '1;process A;1;' }
    const starting = buildGroup(2, { startFrom: 'latest', logs, clock })
    await clock.pass(1_000)
    logs[1]!.committed = { offset: 2, metadata: '1;process A;1;' }
    await clock.pass(1_000)
    const { assign, acquire, deliver, listener } = await starting
    await assign(0, 1)
    await acquire([0, 1])
    deliver(1)
    expect(listener.freshKeys).toEqual([])
  })
})

describe('a session that is lost', () => {
  test('is closed, and opened anew at once where the last commit left it', async () => {
    const { clock, logs, listener, told, driverOf, deliver, commit, acquire } = await openGroup(1)
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
    await clock.pass(0)
    await acquire([0])
    deliver(0)
    expect(listener.session()).not.toBe(first)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '1', '2'])
  })

  test('is not opened anew when the partition goes meanwhile', async () => {
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

  test('loses nothing of what its POSTs come to', async () => {
    const { clock, logs, listener, deliver, commit, acquire } = await openGroup(1)
    logs[0]!.append(2)
    deliver(0)
    const first = listener.session()
    const intended = first.intend([0])
    await commit()
    expect(await intended).toBe(true)
    first.settle(1, [buildRecord('results', '1')])
    await commit('failed')
    first.settle(0, [buildRecord('results', '0')])
    await clock.pass(200)
    await acquire([0])
    await commit()
    deliver(0)
    expect(logs[0]!.published.map(({ key }) => String(key))).toEqual(['0'])
    expect([listener.freshKeys, listener.doubtedKeys]).toEqual([['0', '1', '1'], []])
  })
})

describe('a partition that goes', () => {
  test('while it is being opened, never opens', async () => {
    const { assign, acquire, listener, told, clock, drivers } = await buildGroup(1)
    await assign(0)
    await assign()
    await acquire([0])
    await clock.pass(10_000)
    expect([listener.sessions.size, told, drivers[0]!.length]).toEqual([0, [], 2])
  })

  test('while it is being opened, and fails to, is not tried again', async () => {
    const { assign, acquire, told, clock, drivers } = await buildGroup(1)
    await assign(0)
    await assign()
    await acquire([0], broken)
    await clock.pass(10_000)
    expect([told, drivers[0]!.length]).toEqual([[], 2])
  })

  test('and comes back while its first opening is still under way, is opened once', async () => {
    const { assign, drivers, listener, told } = await buildGroup(1)
    await assign(0)
    await assign()
    await assign(0)
    for (const driver of drivers[0]!) driver.acquired()
    await settled()
    expect([listener.sessions.size, told]).toEqual([1, ['session.opened 0']])
  })

  test('and comes back in the next generation goes on; after one that was missed it is opened anew, however soon', async () => {
    const { assign, assignAfterGap, acquire, listener, told } = await openGroup(1)
    const first = listener.session()
    await assign(0)
    expect(listener.session()).toBe(first)
    await assignAfterGap(0)
    expect([first.alive, told.at(-1)]).toEqual([false, 'session.closed 0'])
    await acquire([0])
    expect(listener.session()).not.toBe(first)
  })

  test('is not read any more', async () => {
    const { assign, driverOf } = await openGroup(2)
    const lost = driverOf(0)
    await assign(1)
    expect([lost.paused, driverOf(1).paused]).toEqual([true, false])
  })

  test('is closed with its session, and the others stay as they are', async () => {
    const { assign, listener, told, ownership } = await openGroup(2)
    const kept = listener.session(1)
    await assign(1)
    expect([...listener.sessions]).toEqual([[1, kept]])
    expect(told.slice(2)).toEqual(['session.closed 0'])
    expect(ownership.share()).toEqual({ owned: 1, total: 2 })
  })
})

describe('batches', () => {
  test('one that does not go on where the session stands is fetched anew from there', async () => {
    const { logs, listener, deliver, driverOf } = await openGroup(1)
    logs[0]!.append(4)
    driverOf(0).position = 2
    deliver(0)
    expect(listener.freshKeys).toEqual([])
    expect(driverOf(0).position).toBe(0)
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '3'])
  })

  test('one of a partition that is not owned, or not open, is passed over', async () => {
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
})

describe('a re-join', () => {
  test('waits for what is in flight, and goes on with what is kept', async () => {
    const { logs, listener, deliver, commit, ownership, tps } = await openGroup(1)
    logs[0]!.append(2)
    deliver(0)
    const session = listener.session()
    const intended = session.intend([0])
    await commit()
    expect(await intended).toBe(true)
    let drained = false
    void ownership.joining().then(() => {
      drained = true
    })
    await settled()
    expect([drained, session.open, session.alive]).toEqual([false, false, true])
    session.settle(0, [])
    await commit()
    expect(drained).toBe(true)
    ownership.assigned(tps, true)
    expect([session.open, listener.session()]).toEqual([true, session])
  })

  test('lets no session begin that is opened meanwhile', async () => {
    const { clock, logs, listener, deliver, commit, acquire, ownership, tps } = await openGroup(1)
    logs[0]!.append(1)
    deliver(0)
    listener.session().settle(0, [])
    await commit('failed')
    await ownership.joining()
    await clock.pass(200)
    await acquire([0])
    expect(listener.session().open).toBe(false)
    ownership.assigned(tps, true)
    expect(listener.session().open).toBe(true)
  })
})

describe('a topic that is deleted and made anew', () => {
  /** Another one of its name has seven records. */
  function madeAnew([log]: PartitionLog[]) {
    log!.cut(5)
    Object.assign(log!, { low: 0, end: 0, committed: null })
    log!.append(7)
  }

  test('is read from its beginning: what the process knew was said of the other one', async () => {
    const { logs, listener, deliver, commit, acquire, clock, ownership, tps, told } = await openGroup(1)
    await commit()
    logs[0]!.append(5)
    deliver(0)
    const intended = listener.session().intend([3, 4])
    await commit()
    expect(await intended).toBe(true)
    const before = listener.session()
    before.settle(3, result(3))
    ownership.gone(tps[0]!, new Error('there is no such topic'))
    expect(told.slice(-2)).toEqual(['session.lost 0', 'session.closed 0'])
    await clock.pass(200)
    await acquire([0], broken)
    madeAnew(logs)
    await clock.pass(500)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys.slice(5)).toEqual(['0', '1', '2', '3', '4', '5', '6'])
    before.settle(4, result(4))
    await commit()
    expect(logs[0]!.published).toEqual([result(3), result(4)].flat())
  })

  test('stays the new one when its first commit has no answer', async () => {
    const { logs, listener, deliver, commit, acquire, clock, ownership, tps } = await openGroup(1)
    await commit()
    logs[0]!.append(5)
    deliver(0)
    for (let offset = 0; offset < 5; offset++) {
      listener.session().settle(offset, [])
      await commit()
    }
    ownership.gone(tps[0]!, new Error('there is no such topic'))
    madeAnew(logs)
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    listener.session().settle(0, [])
    await commit('lost answer')
    await clock.pass(200)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys.slice(5)).toEqual(['0', '1', '2', '3', '4', '5', '6', '1', '2', '3', '4', '5', '6'])
  })
})

describe('what is known when the group has forgotten the process', () => {
  /** A POST is in flight, its session is lost, and so is the lease; then its answer comes. */
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

  test('holds up no join, and is committed when the group gives the partition back', async () => {
    const { ownership, acquire, commit, logs, tps, lease } = await answeredWithoutLease()
    await ownership.joining() // nothing can be committed without a membership
    lease.holds = true
    ownership.assigned(tps, false)
    await settled()
    await acquire([0])
    await commit()
    expect(logs[0]!.published).toEqual(result(0))
  })

  test('is not committed over what another process has committed since', async () => {
    const { ownership, acquire, logs, clock, lease } = await answeredWithoutLease()
    const other = await buildOwner(logs[0]!, { tag: 'another process' }).open()
    other.deliver()
    other.session.settle(0, result(0))
    await other.commit()
    void ownership.joining()
    lease.holds = true
    await clock.pass(1_000)
    await acquire([0])
    await clock.pass(5_000)
    expect(logs[0]!.published).toEqual(result(0))
  })

  test('is committed although it was told to leave, if the group gives the partition back', async () => {
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

describe('leaving', () => {
  test('finishes what is in flight, leaves the group, and closes what is open', async () => {
    const { logs, listener, deliver, commit, ownership, leaving, told } = await openGroup(1)
    logs[0]!.append(1)
    deliver(0)
    const session = listener.session()
    const intended = session.intend([0])
    await commit()
    expect(await intended).toBe(true)
    const left = ownership.leave()
    session.settle(0, [])
    expect(leaving.begun).toBe(false)
    await commit()
    expect([leaving.begun, session.open, session.alive]).toEqual([true, false, true])
    leaving.end()
    await left
    expect([session.alive, listener.sessions.size]).toEqual([false, 0])
    expect(told).toEqual(['session.opened 0', 'session.closed 0'])
    expect(ownership.share().owned).toBe(0)
  })

  test('does not wait for a group that does not answer: what is known is committed by then', async () => {
    const { listener, clock, ownership, leaving } = await openGroup(1)
    let left = false
    void ownership.leave().then(() => {
      left = true
    })
    await clock.pass(5_000) // a commit that is due is waited for
    expect(leaving.begun).toBe(true)
    await clock.pass(3_000)
    expect([left, listener.sessions.size]).toEqual([true, 0])
  })

  test('does not take the partition back from the process that has it by then', async () => {
    const { clock, logs, listener, deliver, commit, acquire, ownership, leaving } = await openGroup(1)
    logs[0]!.append(2)
    deliver(0)
    const session = listener.session()
    const intended = session.intend([0])
    await commit()
    expect(await intended).toBe(true)
    const other = await buildOwner(logs[0]!, { tag: 'another process' }).open()
    other.deliver()
    expect(await intend(other, 1)).toBe(true)
    const left = ownership.leave()
    session.settle(0, [buildRecord('results', 'sent 0')])
    await commit()
    await clock.pass(200)
    await acquire([0], new Error('ILLEGAL_GENERATION'))
    deliver(0)
    expect(listener.doubted).toEqual([])
    await clock.pass(5_000)
    expect(leaving.begun).toBe(true)
    leaving.end()
    await left
  })

  test('opens nothing any more, however long it takes', async () => {
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
})

test('the state of each partition that is owned can be seen, open or not', async () => {
  const { logs, assign, acquire, deliver, ownership, commit } = await buildGroup(2)
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

describe('a change of what is owned is told at once', () => {
  /** How many partitions are owned, each time that the listener hears of a change. */
  function heardOf({ listener, ownership }: Awaited<ReturnType<typeof buildGroup>>): number[] {
    const heard: number[] = []
    Object.assign(listener, { shareChanged: () => heard.push(ownership.share().owned) })
    return heard
  }

  test('of a partition that was lost while its session was being opened anew', async () => {
    const group = await openGroup(2)
    const { listener, commit, assign } = group
    listener.session(1).settle(0, [])
    await commit('failed')
    const heard = heardOf(group)
    await assign(0)
    expect(heard.at(-1)).toBe(1)
  })

  test('of partitions that another process may have had in between: what they gave is lost before it is given back', async () => {
    const group = await openGroup(3)
    const { ownership, clock, tps } = group
    const heard = heardOf(group)
    void ownership.joining()
    await clock.pass(20_000)
    ownership.assigned(tps.slice(0, 2), false)
    expect(heard).toEqual([0, 2])
  })

  test('of all of them, when the group is left', async () => {
    const group = await openGroup(2)
    await group.commit()
    const heard = heardOf(group)
    const left = group.ownership.leave()
    group.leaving.end()
    await left
    expect(heard).toEqual([0])
  })
})

test('a busy partition holds in memory what idle ones leave; the others have their part still', async () => {
  const group = await openGroup(4, { backlog: { records: 80, bytes: 1 << 30 } })
  const { logs, listener, deliver, driverOf, assign, commit } = group
  const bring = (partition: number, records: number) => {
    logs[partition]!.append(records)
    deliver(partition)
    return driverOf(partition).paused
  }
  expect([bring(0, 29), bring(0, 1)]).toEqual([false, true])
  expect([bring(1, 9), bring(1, 1)]).toEqual([false, true])
  await assign(1, 2, 3)
  listener.session(1).settle(0, [])
  await commit()
  expect([driverOf(1).paused, bring(1, 15)]).toEqual([false, false])
})
