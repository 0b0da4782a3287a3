import { describe, expect, test } from 'vitest'
import { BusUnavailable } from '../../src/bus/port.ts'
import { ManualClock } from '../support/clock.ts'
import { buildGroup, openGroup } from '../support/group.ts'
import { buildLog } from '../support/sessions.ts'

const broken = new Error('the coordinator is loading')

describe('the first start of a group', () => {
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
      const { deliver, listener, open } = await buildGroup(1, {
        ...{ startFrom, known, logs: [log] },
        withoutLeader: startFrom === 'earliest' || known, // where they end is not asked then
      })
      await open()
      deliver(0)
      expect(listener.freshKeys).toEqual(keys)
    },
  )

  test('a new group refuses a topic that is not empty unless kafka.startFrom says where to start', async () => {
    const clock = new ManualClock()
    const refused = buildGroup(2, { startFrom: 'fail', logs: [buildLog(0), buildLog(1)], clock })
    const expected = expect(refused).rejects.toThrow(
      /group busgate has no committed offset on commands, which is not empty.*correct it.*set kafka.startFrom to earliest/,
    )
    await clock.pass(5_000)
    await expected
    const { listener } = await openGroup(1, { startFrom: 'fail' })
    expect(listener.session().open).toBe(true)
  })

  test("a topic that filled up while the group's first members started is not refused", async () => {
    const clock = new ManualClock()
    const logs = [buildLog(1), buildLog(1)]
    const starting = buildGroup(2, { startFrom: 'fail', logs, clock, members: () => true })
    await clock.pass(9_000)
    for (const log of logs) log.committed = { offset: 0, metadata: '1;process A;1;' }
    await clock.pass(1_000)
    const { deliver, listener, open } = await starting
    await open()
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

  test('a topic without visible partitions does not count as empty', async () => {
    const starting = buildGroup(1, { startFrom: 'latest', logs: [buildLog(5)], partitionsAtStart: 0 })
    await expect(starting).rejects.toThrow(BusUnavailable)
  })

  test('the starting offset is committed at once, so that a restart does not choose again', async () => {
    const { logs, commit } = await openGroup(1, { startFrom: 'latest', logs: [buildLog(4)] })
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 4 })
  })

  test('with startFrom latest, records that come before the starting offset is committed are not skipped', async () => {
    const { logs, clock, assign, acquire, commit, deliver, listener, reopen } = await buildGroup(1, {
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
    await reopen()
    deliver(0)
    expect(listener.freshKeys).toEqual(['4', '5'])
  })

  test('a partition that was added later starts at its beginning, whatever kafka.startFrom says', async () => {
    const group = await buildGroup(2, { startFrom: 'latest', partitionsAtStart: 1, logs: [buildLog(2), buildLog(3)] })
    await group.open()
    group.deliver(0)
    group.deliver(1)
    expect(group.listener.freshKeys).toEqual(['0', '1', '2'])
  })

  test("with startFrom latest, a process does not begin before the group's first member has committed where", async () => {
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
    const { deliver, listener, open } = await starting
    await open()
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
    const { deliver, listener, open } = await starting
    await open()
    deliver(0)
    expect(listener.freshKeys).toEqual(['2'])
  })

  test('with startFrom latest, partitions that another process has not opened yet do not count as added', async () => {
    const clock = new ManualClock()
    const logs = [buildLog(2), buildLog(2)]
    logs[0]!.committed = { offset: 2, metadata: '1;process A;1;' }
    const starting = buildGroup(2, { startFrom: 'latest', logs, clock })
    await clock.pass(1_000)
    logs[1]!.committed = { offset: 2, metadata: '1;process A;1;' }
    await clock.pass(1_000)
    const { deliver, listener, open } = await starting
    await open()
    deliver(1)
    expect(listener.freshKeys).toEqual([])
  })
})
