import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hasLoss } from '../../src/bus/session/lost-offsets.ts'
import { windowSize } from '../../src/bus/session/window.ts'
import type { Events } from '../../src/telemetry/events.ts'
import { settled } from '../support/clock.ts'
import { buildGroup, openGroup } from '../support/group.ts'
import { buildLog, buildOwner, commitDueMs, intend, type PartitionLog, result } from '../support/sessions.ts'

/** Lets time pass until the partition is open. */
async function waitUntilOpen({ listener, clock, acquire }: Awaited<ReturnType<typeof buildGroup>>): Promise<void> {
  while (listener.sessions.size === 0) {
    await clock.pass(500)
    await acquire([0])
  }
}

/** The event that reports lost offsets. */
const lost = (how: Partial<Events['log.cut']>): Events['log.cut'] => ({
  topic: 'commands',
  partition: 0,
  recordsOf: 'commands',
  end: null,
  anew: false,
  unsent: 0,
  unread: 0,
  unsentOffsets: '',
  perhapsSent: 0,
  unchecked: 0,
  perhapsSentOffsets: '',
  ...how,
})

/** All offsets that the event tells of. */
const offsetsIn = ({ unsentOffsets, perhapsSentOffsets }: Events['log.cut']) =>
  [unsentOffsets, perhapsSentOffsets]
    .flatMap(text => text.split(', ').filter(Boolean))
    .flatMap(range => {
      const [first = 0, last = first] = range.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, i) => first + i)
    })

test('new records count as lag although the full window stops reading', async () => {
  const { logs, deliver, clock, ownership, commit, listener } = await openGroup(1)
  await commit()
  logs[0]!.append(windowSize + 10)
  deliver(0)
  logs[0]!.append(500)
  await clock.pass(5_000)
  expect([...ownership.sessions()]).toMatchObject([{ lag: windowSize + 510 }])
  expect(listener.cuts).toEqual([])
})

describe('a log that was cut', () => {
  test('at its beginning while it is read is read on with the same window, and the loss is reported', async () => {
    const { logs, deliver, ownership, tps, listener, commit, cuts } = await openGroup(1)
    logs[0]!.append(3)
    deliver(0)
    listener.session().settle(1, [])
    logs[0]!.append(5)
    logs[0]!.cut(6)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    deliver(0)
    expect(listener.freshKeys).toEqual(['0', '1', '2', '6', '7'])
    expect(cuts).toEqual([lost({ unread: 3, unsentOffsets: '3-5' })])
    for (const offset of [0, 2]) listener.session().settle(offset, [])
    await commit()
    expect(logs[0]!.committed).toMatchObject({ offset: 6 })
  })

  test('is told of at once if shelved records are lost, although later ones have been read', async () => {
    const { logs, deliver, listener, commit, cuts, clock } = await openGroup(1)
    await commit()
    logs[0]!.append(6)
    deliver(0)
    const session = listener.session()
    session.shelve([0, 1, 2])
    session.recall([0, 1])
    logs[0]!.cut(2)
    await clock.pass(5_000)
    expect(cuts).toEqual([lost({ unsent: 2, unsentOffsets: '0-1' })])
    expect([listener.cuts, session.recalling]).toEqual([[2], false])
    logs[0]!.cut(4)
    await clock.pass(5_000)
    expect(cuts.slice(1)).toEqual([lost({ unsent: 1, unsentOffsets: '2' })])
  })

  test('loses nothing that was read, even if it waits for memory', async () => {
    const log = buildLog(0)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    await other.commit()
    log.append(12)
    other.deliver()
    expect(await intend(other, 9)).toBe(true)
    const { logs, ownership, tps, listener, commit, cuts, driverOf } = await openGroup(1, {
      ...{ logs: [log], known: true },
      backlog: { records: 8, bytes: 1 << 30 },
    })
    for (let read = 0; read < 12; read += 6) ownership.batch(driverOf(0).fetch(6))
    const taken = listener.fresh.length
    logs[0]!.append(1)
    ownership.batch(driverOf(0).fetch())
    logs[0]!.cut(13)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    for (let offset = 0; offset < 13; offset++) {
      listener.session().settle(offset, [])
      await commit()
    }
    expect(taken).toBeLessThan(12)
    expect(cuts).toEqual([])
    const keys = Array.from({ length: 13 }, (_, i) => String(i))
    expect([listener.freshKeys, listener.doubtedKeys]).toEqual([keys.filter(key => key !== '9'), ['9']])
  })

  test('at its beginning as far as it was read is read on by the same session', async () => {
    const { logs, deliver, ownership, tps, listener, told } = await openGroup(1)
    logs[0]!.append(3)
    deliver(0)
    logs[0]!.cut(3)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    logs[0]!.append(1)
    deliver(0)
    expect([listener.freshKeys, told]).toEqual([['0', '1', '2', '3'], ['session.opened 0']])
  })

  test('while no session is open on it is read from its new beginning on', async () => {
    const { logs, deliver, ownership, tps, listener, commit, reopen } = await openGroup(1)
    await commit()
    logs[0]!.append(3)
    deliver(0)
    listener.session().settle(0, [])
    await commit('failed')
    logs[0]!.cut(2)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    await reopen()
    deliver(0)
    expect(listener.freshKeys.slice(3)).toEqual(['2'])
  })

  test('loses only the shelved records below its new beginning; the others are read again', async () => {
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

  test('is reported at once in one event if shelved records are lost; records in memory stay', async () => {
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
    expect(cuts).toEqual([lost({ unsent: 3_900, unread: 39_000 - windowSize, unsentOffsets: '100-3999, 8192-38999' })])
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

  test('is reported once, although the window has no room for it, and later owners tell the rest', async () => {
    const log = buildLog(0)
    const first = await openGroup(1, { logs: [log], known: true })
    await first.commit()
    log.append(windowSize)
    first.deliver(0)
    for (const offset of [3, 4, 5]) first.listener.session().settle(offset, [])
    log.append(20_000)
    log.cut(20_000)
    await first.clock.pass(5_000)
    expect(first.cuts).toEqual([lost({ unread: 20_000 - windowSize, unsentOffsets: '8192-19999' })])
    await first.commit()
    await first.commit()
    log.cut(21_000)
    await first.clock.pass(5_000)
    expect(first.cuts.slice(1)).toEqual([lost({ unread: 1_000, unsentOffsets: '20000-20999' })])
    await first.commit()
    await first.commit()
    log.cut(21_010)
    const { cuts } = await openGroup(1, { logs: [log], known: true })
    expect(cuts).toEqual([lost({ unsent: 3, unread: windowSize - 6 + 10, unsentOffsets: '0-2, 6-8191, 21000-21009' })])
  })

  test('is told of exactly, whatever was done, cut and taken over in any order', async () => {
    const step = fc.oneof(
      fc.record({ append: fc.integer({ min: 1, max: 12_000 }) }),
      fc.record({ settle: fc.array(fc.nat({ max: 9_000 }), { maxLength: 40 }) }),
      fc.record({ shelve: fc.array(fc.nat({ max: 9_000 }), { maxLength: 40 }) }),
      fc.record({ cut: fc.double({ min: 0, max: 1, noNaN: true }) }),
      fc.constantFrom('read' as const, 'take over' as const),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
        const log = buildLog(0)
        const told: number[] = []
        const done = new Set<number>()
        let group = await openGroup(1, { logs: [log], known: true })
        const commit = async () => {
          for (let i = 0; i < 3; i++) await group.commit()
          await group.clock.pass(5_000)
          for (let i = 0; i < 3; i++) await group.commit()
          told.push(...group.cuts.splice(0).flatMap(offsetsIn))
        }
        for (const one of [...steps, { cut: 1 }, 'take over' as const]) {
          const session = group.listener.session()
          if (one === 'take over') group = await openGroup(1, { logs: [log], known: true })
          else if (one === 'read') {
            if (log.ends.low <= group.driverOf(0).position) group.deliver(0)
          } else if ('append' in one) log.append(one.append)
          else if ('cut' in one) log.cut(Math.round(log.ends.low + one.cut * (log.ends.high - log.ends.low)))
          else {
            const untouched = group.listener.fresh
              .map(({ record }) => record.offset)
              .filter(offset => !done.has(offset))
            const chosen = ('settle' in one ? one.settle : one.shelve).flatMap(i => untouched[i] ?? [])
            const offsets = [...new Set(chosen)].filter(offset => !told.includes(offset))
            if ('shelve' in one) {
              session.shelve(offsets)
              session.recall(offsets)
            } else for (const offset of offsets) session.settle(offset, [])
            if ('settle' in one) for (const offset of offsets) done.add(offset)
          }
          await commit()
        }
        const { low } = log.ends
        const lostOffsets = Array.from({ length: low }, (_, offset) => offset).filter(offset => !done.has(offset))
        expect(told.toSorted((a, b) => a - b)).toEqual(lostOffsets)
      }),
      { numRuns: 60 },
    )
  })

  test('is reported with unsent offsets apart from those that another process may have sent', async () => {
    const log = buildLog(0)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    await other.commit()
    log.append(9)
    other.deliver()
    other.session.settle(0, [])
    expect(await intend(other, 2, 3, 6)).toBe(true)
    log.cut(8)
    const { deliver, listener, cuts, told } = await openGroup(1, { logs: [log], known: true })
    deliver(0)
    expect(cuts).toEqual([
      lost({ unsent: 3, unread: 1, unsentOffsets: '1, 4-5, 7', perhapsSent: 3, perhapsSentOffsets: '2-3, 6' }),
    ])
    expect([listener.freshKeys, listener.doubtedKeys, told]).toEqual([['8'], [], ['session.opened 0']])
  })

  test('of the doubts topic is reported without any unsent offset', async () => {
    const log = buildLog(9)
    log.committed = { offset: 0, metadata: '1;another process;9;' }
    log.cut(4)
    const { cuts } = await openGroup(1, { logs: [log], known: true, recordsOf: () => 'doubts' })
    expect(cuts).toEqual([lost({ recordsOf: 'doubts', unread: 4, unsentOffsets: '0-3' })])
  })

  test('above the committed offset before a take-over is reported, and the rest of the window stays', async () => {
    const log = buildLog(9)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    other.deliver()
    for (const offset of [1, 5]) other.session.settle(offset, [])
    await other.commit()
    log.cut(4)
    const { deliver, listener, cuts } = await openGroup(1, { logs: [log], known: true })
    deliver(0)
    expect(listener.freshKeys).toEqual(['4', '6', '7', '8'])
    expect(cuts).toEqual([lost({ unchecked: 3, perhapsSentOffsets: '0, 2-3' })]) // the results tell which of them were sent
  })

  test('has its new beginning committed at once after a take-over, so that it is reported only once', async () => {
    const log = buildLog(9)
    log.committed = { offset: 0, metadata: '1;another process;9;' }
    log.cut(4)
    const { assignAfterGap, acquire, commit, cuts } = await openGroup(1, { logs: [log], known: true })
    await commit()
    await assignAfterGap(0)
    await acquire([0])
    expect(cuts).toEqual([lost({ unread: 4, unsentOffsets: '0-3' })])
    expect(log.committed).toMatchObject({ offset: 4 })
  })

  test('at its end counts as cut after five seconds, and commands that are young enough are read again', async () => {
    const log = buildLog(6)
    log.committed = { offset: 6, metadata: '1;another process;9;' }
    log.truncate(3)
    const group = await openGroup(1, { logs: [log], known: true, lookBackMs: 1_000 })
    expect(group.told).toEqual(['session.openFailed 0'])
    await waitUntilOpen(group)
    expect(group.clock.elapsed).toBe(5_000)
    expect(group.cuts).toEqual([lost({ end: { from: 3, to: 6 } })]) // all of it was done
    log.append(1)
    group.deliver(0)
    expect(group.listener.freshKeys).toEqual(['3']) // the others are from 1970
  })

  test('at its end forgets the state of lost records, because new ones get their offsets', async () => {
    const log = buildLog(6)
    const other = await buildOwner(log, { tag: 'another process' }).open()
    other.deliver()
    for (const offset of [1, 4, 5]) other.session.settle(offset, [])
    await other.commit()
    log.truncate(4)
    const group = await openGroup(1, { logs: [log], known: true })
    await waitUntilOpen(group)
    log.append(2)
    group.deliver(0)
    expect(group.listener.freshKeys).toEqual(['0', '2', '3', '4', '5'])
  })

  /** Offsets 1 to 8 are done. Then the log is truncated to offset 6, and new records get the offsets 6 to 9. */
  async function cutWhileRead() {
    const group = await openGroup(1)
    const { logs, listener, deliver, commit, ownership, tps, reopen } = group
    await commit()
    logs[0]!.append(9)
    deliver(0)
    for (let offset = 1; offset < 9; offset++) listener.session().settle(offset, [])
    await commit()
    logs[0]!.truncate(6)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    logs[0]!.append(4)
    await reopen()
    return group
  }

  test('at its end while it is read is remembered until the truncation is committed', async () => {
    const { listener, deliver, commit, reopen } = await cutWhileRead()
    await commit('failed')
    await reopen()
    deliver(0)
    expect(listener.freshKeys.slice(9)).toEqual(['0', '6', '7', '8', '9'])
  })

  test('at its end while it is read is reported once, and later progress on the same offsets stays', async () => {
    const { listener, deliver, commit, reopen, cuts } = await cutWhileRead()
    deliver(0)
    expect(listener.freshKeys.slice(9)).toEqual(['0', '6', '7', '8', '9'])
    expect(listener.session().uncheckedUntil).toBe(9) // a leader that hid them for a moment loses nothing either
    await commit()
    for (const offset of [6, 7, 8, 9]) listener.session().settle(offset, [])
    await commit()
    listener.session().settle(0, [])
    await commit('failed')
    await reopen()
    deliver(0)
    expect(cuts).toEqual([lost({ end: { from: 6, to: 9 } })])
    expect(listener.freshKeys.slice(14)).toEqual(['0'])
  })

  test('at its end twice before a commit has the length of the second truncation', async () => {
    const group = await cutWhileRead()
    const { logs, listener, deliver, commit, cuts } = group
    logs[0]!.truncate(4)
    await commit('failed')
    await waitUntilOpen(group)
    logs[0]!.append(5)
    deliver(0)
    expect(cuts).toEqual([lost({ end: { from: 6, to: 9 } }), lost({ end: { from: 4, to: 9 } })])
    expect(listener.freshKeys.slice(9)).toEqual(['0', '4', '5', '6', '7', '8'])
  })

  test.each([
    [6, 4],
    [4, 6],
  ])(
    'at its end to %d and to %d before a commit lost what lies behind the lower, until that is committed',
    async (...ends) => {
      const { logs, listener, deliver, commit, ownership, tps, reopen } = await openGroup(1)
      await commit()
      logs[0]!.append(9)
      deliver(0)
      for (let offset = 1; offset < 9; offset++) listener.session().settle(offset, [])
      await commit()
      for (const end of ends) {
        deliver(0)
        logs[0]!.truncate(end)
        ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
        logs[0]!.append(9 - end)
        await reopen()
      }
      const before = listener.fresh.length
      deliver(0)
      expect(listener.freshKeys.slice(before)).toEqual(['0', '4', '5', '6', '7', '8'])
    },
  )

  test('at its end for a moment is waited for each time for five seconds, since its leader may not know the end yet', async () => {
    const group = await openGroup(1)
    const { logs, deliver, commit, clock, ownership, tps, reopen, acquire, cuts, listener } = group
    await commit()
    logs[0]!.append(5)
    deliver(0)
    for (let offset = 0; offset < 5; offset++) listener.session().settle(offset, [])
    await commit()
    for (const hidden of [4_000, 4_000]) {
      ownership.gone(tps[0]!, new Error('its leader is elected anew'))
      logs[0]!.end = 3
      for (let waited = 0; waited < hidden; waited += 500) {
        await clock.pass(500)
        await acquire([0])
      }
      logs[0]!.end = 5
      await reopen()
      await waitUntilOpen(group)
    }
    expect(cuts).toEqual([])
  })

  test('at its end during a commit is remembered although the commit succeeds', async () => {
    const { logs, listener, deliver, commit, clock, cuts, ownership, tps, sharedCommits, reopen } = await openGroup(1)
    await commit()
    logs[0]!.append(9)
    deliver(0)
    for (let offset = 1; offset < 9; offset++) listener.session().settle(offset, [])
    await clock.pass(commitDueMs)
    logs[0]!.truncate(6)
    ownership.cut({ ...tps[0]!, ...logs[0]!.ends })
    sharedCommits.end()
    logs[0]!.append(4)
    await reopen()
    deliver(0)
    expect(cuts).toEqual([lost({ end: { from: 6, to: 9 } })])
    expect(listener.freshKeys.slice(9)).toEqual(['0', '6', '7', '8', '9'])
  })

  test('at its end before a take-over is remembered until the truncation is committed', async () => {
    const log = buildLog(6)
    log.committed = { offset: 6, metadata: '1;another process;9;' }
    log.truncate(3)
    const group = await buildGroup(1, { logs: [log], known: true })
    await group.assign(0)
    await waitUntilOpen(group)
    log.append(5)
    await group.commit('failed')
    await group.reopen()
    group.deliver(0)
    expect(group.listener.freshKeys).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
  })

  test("loses no result, and publishes none twice if the commit's answer is lost", async () => {
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

  test('loses no result: the result of a lost command is published, too', async () => {
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
      expect(await intend(second, offset)).toBe(true) // another command, perhaps at the same offset
      first.session.settle(2, result(2))
      await second.commit()
      expect(log.published).toEqual([result(0), result(1), result(2)].flat())
      expect(owner.ledger.size).toBe(1)
      second.session.settle(offset, result(offset))
      await second.commit()
      expect([log.published.length, owner.ledger.size]).toEqual([4, 0])
    }
  })

  test.each(['ok', 'failed', 'lost answer', 'has the intent, too'] as const)(
    'at its end loses no command that takes the offset of one in flight, however the commit of the loss ends: %s',
    async ending => {
      const log = buildLog(2)
      const owner = buildOwner(log)
      const first = await owner.open()
      first.deliver()
      expect(await intend(first, 0)).toBe(true)
      log.truncate(0)
      let next = await owner.open()
      if (ending !== 'has the intent, too') {
        await next.commit(ending)
        if (ending !== 'ok') next = await owner.open()
        await next.commit()
      }
      log.append(2)
      next.deliver()
      const intended = next.session.intend([0])
      await next.commit('lost answer')
      expect(await intended).toBe(false)
      const last = await owner.open()
      const before = owner.listener.fresh.length
      last.deliver()
      expect(owner.listener.freshKeys.slice(before)).toEqual(['0', '1'])
      first.session.settle(0, result(0))
      for (const offset of [0, 1]) last.session.settle(offset, result(offset))
      await last.commit()
      expect(log.published).toEqual([0, 0, 1].flatMap(result))
      expect([log.committed?.offset, owner.ledger.size]).toEqual([2, 0])
    },
  )

  test("loses no result, although the group's progress is deleted, too", async () => {
    const log = buildLog(3)
    const known = { foundSeq: 0, confirmed: { offset: 1, metadata: '1;this process;3;' }, lastEnd: 3 }
    const owner = buildOwner(log, { known })
    const first = await owner.open()
    first.deliver()
    expect(await intend(first, 1)).toBe(true)
    log.cut(3)
    const second = await owner.open()
    await second.commit()
    log.committed = null
    const third = await owner.open()
    first.session.settle(1, result(1))
    await third.commit()
    expect([log.published, owner.ledger.size]).toEqual([result(1), 0])
  })

  test('never tells of a command in flight as unsent, however often the commit of the loss fails', async () => {
    const log = buildLog(3)
    const owner = buildOwner(log)
    const first = await owner.open()
    first.deliver()
    expect(await intend(first, 0)).toBe(true)
    log.cut(2)
    for (let i = 0; i < 2; i++) {
      const next = await owner.open()
      await next.commit('failed')
    }
    await owner.open()
    const told = owner.lost.flatMap(({ ranges }) => ranges.map(({ first, last }) => [first, last]))
    expect(told).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ])
  })
})

const broken = new Error('the coordinator is loading')

describe('a topic that is deleted and recreated', () => {
  /** Replaces the log with that of a new topic with seven records. */
  function recreate([log]: PartitionLog[]) {
    log!.cut(5)
    Object.assign(log!, { low: 0, end: 0, committed: null })
    log!.append(7)
  }

  /** Two commands are being sent. One of them has its answer, and its result is not committed yet. */
  async function startWithUncommittedResult() {
    const group = await openGroup(1)
    const { logs, listener, deliver, commit } = group
    await commit()
    logs[0]!.append(5)
    deliver(0)
    const intended = listener.session().intend([3, 4])
    await commit()
    expect(await intended).toBe(true)
    const before = listener.session()
    before.settle(3, result(3))
    return { ...group, before }
  }

  test('publishes no result twice if its commit ends after the deletion', async () => {
    const { logs, commit, clock, ownership, tps, sharedCommits, before, reopen, leaving } =
      await startWithUncommittedResult()
    await clock.pass(commitDueMs)
    ownership.gone(tps[0]!, new Error('there is no such topic'))
    sharedCommits.end()
    await settled()
    recreate(logs)
    await reopen()
    before.settle(4, result(4))
    await commit()
    expect(logs[0]!.published).toEqual([result(3), result(4)].flat())
    leaving.end()
    await ownership.leave() // nothing is left to commit
  })

  test('is read from its beginning, without the state of the old one', async () => {
    const { logs, listener, deliver, commit, acquire, clock, ownership, tps, told, before } =
      await startWithUncommittedResult()
    ownership.gone(tps[0]!, new Error('there is no such topic'))
    expect(told.slice(-2)).toEqual(['session.lost 0', 'session.closed 0'])
    await clock.pass(200)
    await acquire([0], broken)
    recreate(logs)
    await clock.pass(500)
    await acquire([0])
    deliver(0)
    expect(listener.freshKeys.slice(5)).toEqual(['0', '1', '2', '3', '4', '5', '6'])
    before.settle(4, result(4))
    await commit()
    expect(logs[0]!.published).toEqual([result(3), result(4)].flat())
  })

  test('is read from its beginning, although progress on the old one was committed last', async () => {
    const log = Object.assign(buildLog(5), { topicId: 'first' })
    const { listener, deliver, commit, ownership, tps, driverOf, reopen } = await openGroup(1, { logs: [log] })
    deliver(0)
    for (let offset = 0; offset < 5; offset++) listener.session().settle(offset, [])
    await commit()
    expect(log.committed).toMatchObject({ offset: 5 })
    log.topicId = 'second'
    log.append(3) // it holds more than the first one did
    ownership.gone(tps[0]!, new Error('it was deleted and made anew'))
    await reopen()
    expect(driverOf(0).seeks.at(-1)).toBe(0)
    await commit()
    expect(log.committed).toMatchObject({ offset: 0 })
  })

  test('takes with it what was not done: that is told of, except requests in flight', async () => {
    const log = Object.assign(buildLog(0), { topicId: 'first' })
    const { listener, deliver, commit, ownership, tps, reopen, cuts, logs } = await openGroup(1, { logs: [log] })
    await commit()
    log.append(5)
    deliver(0)
    listener.session().settle(1, [])
    const intended = listener.session().intend([3])
    await commit()
    expect(await intended).toBe(true)
    Object.assign(logs[0]!, { topicId: 'second' })
    ownership.gone(tps[0]!, new Error('it was deleted and made anew'))
    await reopen()
    const told = lost({ anew: true, unsent: 2, unread: 1, unsentOffsets: '0, 2, 4' })
    expect(cuts).toEqual([told])
    log.append(4)
    deliver(0)
    ownership.gone(tps[0]!, new Error('another broker has just learnt of it'))
    await reopen()
    expect(cuts).toEqual([told, told]) // the first was not committed
    await commit()
    await reopen()
    expect(cuts).toHaveLength(2)
  })

  test('stays the new one if the answer to its first commit is lost', async () => {
    const { logs, listener, deliver, commit, ownership, tps, reopen } = await openGroup(1)
    await commit()
    logs[0]!.append(5)
    deliver(0)
    for (let offset = 0; offset < 5; offset++) {
      listener.session().settle(offset, [])
      await commit()
    }
    ownership.gone(tps[0]!, new Error('there is no such topic'))
    recreate(logs)
    await reopen()
    deliver(0)
    listener.session().settle(0, [])
    await commit('lost answer')
    await reopen()
    deliver(0)
    expect(listener.freshKeys.slice(5)).toEqual(['0', '1', '2', '3', '4', '5', '6', '1', '2', '3', '4', '5', '6'])
  })
})
