import { describe, expect, test } from 'vitest'
import { BusUnavailable } from '../../src/bus/port.ts'
import { anHour, ManualClock } from '../support/clock.ts'
import { buildGroup, openGroup } from '../support/group.ts'
import { buildLog } from '../support/sessions.ts'

const broken = new Error('the coordinator is loading')

describe('the first start of a group', () => {
  test.each([
    ['at the beginning with startFrom earliest', 'earliest', false, ['2', '3']],
    ['at the end with startFrom latest', 'latest', false, []],
    ['at the beginning with startFrom latest if the group has read the topic before', 'latest', true, ['2', '3']],
    ['at the beginning with startFrom fail if the group has read the topic before', 'fail', true, ['2', '3']],
  ] as const)('begins to read a partition without a checkpoint %s', async (_, startFrom, known, keys) => {
    const log = buildLog(4)
    log.records.splice(0, 2)
    log.low = 2
    const { deliver, listener, open } = await buildGroup(1, {
      ...{ startFrom, known, logs: [log] },
      withoutLeader: startFrom === 'earliest' || known, // the end of the log is not needed then
    })
    await open()
    deliver(0)
    expect(listener.freshKeys).toEqual(keys)
  })

  test('fails if a topic is not empty and kafka.startFrom does not say where to start', async () => {
    const clock = new ManualClock(anHour)
    const refused = buildGroup(2, { startFrom: 'fail', logs: [buildLog(0), buildLog(1)], clock })
    const expected = expect(refused).rejects.toThrow(
      /group busgate has no committed offset on commands, which is not empty.*correct it.*set kafka.startFrom \(BUSGATE_KAFKA_START_FROM\) to earliest/,
    )
    await clock.pass(5_000)
    await expected
    const { listener } = await openGroup(1, { startFrom: 'fail' })
    expect(listener.session().open).toBe(true)
  })

  test("does not fail if a topic filled up while the group's first members started", async () => {
    const clock = new ManualClock(anHour)
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

  test('fails after a minute if its members commit nothing', async () => {
    const clock = new ManualClock(anHour)
    const starting = buildGroup(1, { startFrom: 'fail', logs: [buildLog(1)], clock, members: () => true })
    const expected = expect(starting).rejects.toThrow(/no committed offset on commands, which is not empty/)
    await clock.pass(61_000)
    await expected
  })

  test('does not fail if the group has read a part of the topic before', async () => {
    const logs = [buildLog(2), buildLog(2)]
    logs[0]!.committed = { offset: 1, metadata: '1;process A;1;' }
    const { deliver, listener, open } = await buildGroup(2, { startFrom: 'fail', logs })
    await open()
    for (const partition of [0, 1]) deliver(partition)
    expect(listener.freshKeys).toEqual(['1', '0', '1'])
  })

  test('with startFrom latest skips nothing of a topic of which the group has read a part', async () => {
    const clock = new ManualClock(anHour)
    const logs = [buildLog(2), buildLog(2)]
    logs[0]!.committed = { offset: 1, metadata: '1;process A;1;' }
    const starting = buildGroup(2, { startFrom: 'latest', logs, clock, members: () => true })
    await clock.pass(61_000)
    const { deliver, listener, open } = await starting
    await open()
    for (const partition of [0, 1]) deliver(partition)
    expect(listener.freshKeys).toEqual(['1', '0', '1'])
  })

  test('does not count a topic without visible partitions as empty', async () => {
    const starting = buildGroup(1, { startFrom: 'latest', logs: [buildLog(5)], partitionsAtStart: 0 })
    await expect(starting).rejects.toThrow(BusUnavailable)
  })

  test('commits the starting offset at once, so that a restart does not choose again', async () => {
    const { logs, commit } = await openGroup(1, { startFrom: 'latest', logs: [buildLog(4)] })
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 4 })
  })

  test('with startFrom latest skips no record that comes before the starting offset is committed', async () => {
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

  test('reads a partition that was added later from its beginning, whatever kafka.startFrom says', async () => {
    const group = await buildGroup(2, { startFrom: 'latest', partitionsAtStart: 1, logs: [buildLog(2), buildLog(3)] })
    await group.open()
    group.deliver(0)
    group.deliver(1)
    expect(group.listener.freshKeys).toEqual(['0', '1', '2'])
  })

  test("with startFrom latest waits until the group's first member has committed its starting offsets", async () => {
    const clock = new ManualClock(anHour)
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

  test('with startFrom latest waits at most a minute if the members do not read the topic', async () => {
    const clock = new ManualClock(anHour)
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

  test('with startFrom latest does not count partitions as added that another process has not opened yet', async () => {
    const clock = new ManualClock(anHour)
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
