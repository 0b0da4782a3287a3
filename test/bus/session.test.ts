import { describe, expect, test } from 'vitest'
import type { BusRecord } from '../../src/bus/port.ts'
import type { PartitionSession } from '../../src/bus/session/session.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { buildRecord } from '../support/bus.ts'
import { settled } from '../support/clock.ts'
import {
  buildLog,
  buildOwner,
  commitDueMs,
  intend,
  type OpenSession,
  type OwnerOptions,
  type PartitionLog,
  result,
} from '../support/sessions.ts'

const publishedKeys = (log: PartitionLog) => log.published.map(({ key }) => String(key))

test('a reopened session ignores what an earlier one reports about a POST that it did not begin', async () => {
  const log = buildLog(1)
  const process = buildOwner(log)
  const first = await process.open()
  first.deliver()
  first.session.close()
  const second = await process.open()
  second.deliver()
  expect(await intend(second, 0)).toBe(true)
  first.session.release(0)
  first.session.settle(0, [buildRecord('results', 'of the past')])
  second.session.settle(0, result(0))
  first.session.release(0)
  await second.commit('failed')
  const third = await process.open()
  third.deliver()
  await third.commit()
  expect(publishedKeys(log)).toEqual(['0'])
  expect(process.listener.freshKeys).toEqual(['0', '0'])
})

test.each([
  ["does not replace this process's own if it is the one of the take-over", 5, 3],
  ["replaces this process's own if it is later", 6, 2],
])("another process's checkpoint %s", async (_, seq, position) => {
  const log = buildLog(9)
  log.committed = { offset: 2, metadata: `1;another process;${seq};` }
  const known = { foundSeq: 5, confirmed: { offset: 3, metadata: '1;this process;8;' }, lastEnd: 9 }
  const { session } = await buildOwner(log, { known }).open()
  expect(session.position).toBe(position)
  expect(session.taken!.stale).toBe(position === 3)
})

test.each([
  ['those of another process, sent or doubted', 'another process', 2],
  ['none of its own', 'this process', 0],
])('a session counts as doubts that it took over %s', async (_, tag, count) => {
  const log = buildLog(2)
  log.committed = { offset: 0, metadata: `1;${tag};8;DQ==` } // 0 is in flight, 1 in doubt
  const { session } = await buildOwner(log).open()
  expect(session.doubtsTakenOver).toBe(count)
})

test('an error of the listener is told with its place, and ends the session alone', async () => {
  const telemetry = new Telemetry()
  const faults: unknown[] = []
  telemetry.on('fault.contained', ({ handling, place }) => faults.push([handling, place]))
  const { open, listener, losses } = buildOwner(buildLog(2), { telemetry })
  Object.assign(listener, {
    records: () => {
      throw new TypeError('a bug')
    },
  })
  const { session, deliver } = await open()
  deliver()
  expect([faults, losses]).toEqual([[['partition', { topic: 'commands', partition: 0, offset: 2 }]], ['handle: a bug']])
  expect(session.alive).toBe(false)
})

test('the last settled records are read again as history, and take no room', async () => {
  const log = buildLog(6)
  log.committed = { offset: 4, metadata: '1;another process;8;CA==' } // 5 is done
  const process = buildOwner(log, { lookBack: 3, backlog: { records: 2, bytes: 1 << 30 } })
  const { session, driver, deliver } = await process.open()
  deliver(3)
  expect([session.windowUsed, driver.paused]).toEqual([0, false])
  deliver()
  expect([process.listener.pastKeys, process.listener.freshKeys]).toEqual([['1', '2', '3', '5'], ['4']])
  expect([session.windowUsed, session.full]).toEqual([2 / 8192, false])
})

test('a POST that was in flight when its session was lost is told of, and its command is new once it was not sent', async () => {
  const log = buildLog(2)
  const process = buildOwner(log)
  const inFlight: string[] = []
  Object.assign(process.listener, {
    inFlight: (_: unknown, records: readonly BusRecord[]) => inFlight.push(...records.map(({ key }) => String(key))),
  })
  const first = await process.open()
  first.deliver()
  expect(await intend(first, 0)).toBe(true)
  first.session.close()
  const second = await process.open()
  second.deliver()
  expect([inFlight, process.listener.freshKeys]).toEqual([['0'], ['0', '1', '1']])
  first.session.release(0)
  expect(process.listener.freshKeys).toEqual(['0', '1', '1', '0'])
  expect(await intend(second, 0)).toBe(true)
  second.session.release(0) // who releases it has it already
  expect(process.listener.freshKeys).toEqual(['0', '1', '1', '0'])
})

test('committed intents that were never POSTed are released at once, so that no later owner has doubts', async () => {
  const log = buildLog(2)
  const process = buildOwner(log)
  const first = await process.open()
  first.deliver()
  const intended = first.session.intend([0, 1])
  await first.commit('lost answer')
  expect(await intended).toBe(false)
  const second = await process.open()
  await second.commit()
  const other = buildOwner(log, { tag: 'another process' })
  const { deliver } = await other.open()
  deliver()
  expect([other.listener.doubtedKeys, other.listener.freshKeys]).toEqual([[], ['0', '1']])
})

test('a doubt keeps the time of its POST, for its callbacks, over owners that die before they can read it', async () => {
  const log = buildLog(2)
  const first = buildOwner(log)
  const open = await first.open()
  open.deliver()
  const postedAt = first.clock.now()
  expect(await intend(open, 0, 1)).toBe(true)

  const second = buildOwner(log, { tag: 'a second process' })
  await second.clock.pass(60_000)
  const { session, deliver, commit } = await second.open()
  deliver(1)
  session.settle(0, result(0))
  await commit()

  const third = buildOwner(log, { tag: 'a third process' })
  await third.clock.pass(120_000)
  const next = await third.open()
  next.deliver()
  expect(third.listener.doubted).toMatchObject([{ record: { offset: 1 }, since: expect.any(Number) }])
  expect(third.listener.doubted[0]!.since - postedAt).toBeLessThan(1_000)
})

test('of two doubts the time of the earlier POST is kept, also by commits after it', async () => {
  const log = buildLog(3)
  const owner = buildOwner(log)
  const open = await owner.open()
  open.deliver()
  const postedAt = owner.clock.now()
  expect(await intend(open, 0)).toBe(true)
  await owner.clock.pass(60_000)
  expect(await intend(open, 1)).toBe(true)
  await owner.clock.pass(60_000)
  open.session.settle(2, result(2))
  await open.commit()
  const other = buildOwner(log, { tag: 'another process' })
  const next = await other.open()
  next.deliver()
  expect(other.listener.doubted.map(({ record, since }) => [record.offset, since - postedAt < 1_000])).toEqual([
    [0, true],
    [1, true],
  ])
})

test('what was forgotten is known to the next owner, until it is collected again', async () => {
  const log = buildLog(3)
  const first = await buildOwner(log, { known: { foundSeq: null, confirmed: null, lastEnd: 0 } }).open()
  first.session.recollected([])
  first.session.forget(2)
  first.session.settle(0, [])
  await first.commit()
  const second = await buildOwner(log, { tag: 'another process' }).open()
  expect(second.session.forgotten).toEqual({ until: 2, owned: true })
  second.session.recollected([buildRecord('results', 'collected')])
  await second.commit()
  expect(publishedKeys(log)).toEqual(['collected'])
  const third = await buildOwner(log, { tag: 'a third process' }).open()
  expect(third.session.forgotten).toBe(null)
})

test('an intent that is released as soon as it is committed is in doubt for no later owner', async () => {
  const log = buildLog(1)
  const open = await buildOwner(log).open()
  open.deliver()
  const released = open.session.intend([0]).then(() => open.session.release(0))
  await open.commit()
  await released
  await open.commit()
  const other = buildOwner(log, { tag: 'another process' })
  const next = await other.open()
  next.deliver()
  expect([other.listener.doubtedKeys, other.listener.freshKeys]).toEqual([[], ['0']])
})

test('a hand-over takes back intents that no commit holds yet: their commands are not sent, and nobody doubts them', async () => {
  const log = buildLog(2)
  const { session, deliver, commit } = await buildOwner(log).open()
  deliver()
  session.settle(0, result(0))
  const intended = session.intend([1])
  session.hold()
  await commit()
  expect(await intended).toBe(false)
  const other = buildOwner(log, { tag: 'another process' })
  const next = await other.open()
  next.deliver()
  expect([other.listener.doubtedKeys, other.listener.freshKeys]).toEqual([[], ['1']])
})

describe('the listener of a session', () => {
  /** A process whose listener notes the calls, over a log from which the first two records were deleted. */
  function setUp(committed: PartitionLog['committed'], options: OwnerOptions = {}) {
    const log = buildLog(6)
    log.cut(2)
    log.committed = committed
    const process = buildOwner(log, options)
    const calls: unknown[] = []
    Object.assign(process.listener, {
      lost: (_: unknown, ranges: unknown[]) => {
        calls.push(ranges)
        return [buildRecord('results', 'about a loss')]
      },
      held: () => calls.push('held'),
      resumed: () => calls.push('resumed'),
    })
    return { ...process, log, calls }
  }

  test('may prepare before a session opens, and hears nothing of one that ended meanwhile', async () => {
    for (const ends of [false, true]) {
      const { listener, open, log } = setUp(null)
      const prepared = Promise.withResolvers<void>()
      const opening: PartitionSession[] = []
      Object.assign(listener, {
        opening: (session: PartitionSession) => {
          opening.push(session)
          return prepared.promise
        },
      })
      const opened = open()
      await settled()
      expect(opening).toMatchObject([
        {
          ...{ started: false, open: false, full: true, recalling: false, isCaughtUp: false, committing: false },
          ...{ position: -1, windowUsed: 0, lag: 0, highWatermark: 0, uncheckedUntil: 0, forgotten: null },
        },
      ])
      expect([listener.sessions.size, log.published]).toEqual([0, []])
      if (ends) opening[0]!.close()
      prepared.resolve()
      await opened
      expect(listener.sessions.size).toBe(ends ? 0 : 1)
    }
  })

  test.each([
    ['nothing at a take-over that lost nothing', { offset: 3, metadata: '1;another process;8;' }, []],
    [
      'of records that were deleted',
      { offset: 1, metadata: '1;another process;8;' },
      [{ kind: 'unread', first: 1, last: 1 }],
    ],
    ['of records that another program skipped', { offset: 5, metadata: '' }, [{ kind: 'skipped', first: 2, last: 4 }]],
    ['nothing of another program that skipped none', { offset: 2, metadata: '' }, []],
  ])('hears %s, and publishes what it has to say of that', async (_, committed, ranges) => {
    const { open, calls, log } = setUp(committed)
    const { commit, commits } = await open()
    expect(calls).toEqual(ranges.length > 0 ? [ranges] : [])
    await commit()
    expect(publishedKeys(log)).toEqual(ranges.length > 0 ? ['about a loss'] : [])
    expect(commits.began.length).toBe(ranges.length > 0 ? 1 : 0)
  })

  test('hears of records that are lost while it reads, unless the session must not continue', async () => {
    for (const mustEnd of [false, true]) {
      const dataLost = () => {
        if (mustEnd) throw new Error('the log is cut too often')
      }
      const { open, calls, log, losses } = setUp({ offset: 2, metadata: '1;another process;8;' }, { dataLost })
      const { session, deliver, commit } = await open()
      deliver(1)
      log.cut(5)
      session.logEnds({ topic: 'commands', partition: 0, ...log.ends })
      expect(calls).toEqual(mustEnd ? [] : [[{ kind: 'unread', first: 3, last: 4 }]])
      expect(losses).toEqual(mustEnd ? ['fetch: the log is cut too often'] : [])
      expect(session.alive).toBe(!mustEnd)
      await commit()
      expect(publishedKeys(log)).toEqual(mustEnd ? [] : ['about a loss'])
      if (!mustEnd) expect(session.forgotten).toEqual({ until: 5, owned: true })
    }
  })

  test('hears of a hand-over and its end, once the session is open', async () => {
    const { open, calls } = setUp(null)
    const { session } = await open()
    session.hold()
    session.resume()
    expect(calls).toEqual(['held', 'resumed'])
  })

  test('leaves a memo to the next owner, if it is short enough', async () => {
    const { open, log } = setUp(null)
    const { session, commit } = await open()
    expect(() => session.remember('x'.repeat(65))).toThrow(RangeError)
    session.remember('x'.repeat(64))
    await commit()
    const next = await buildOwner(log, { tag: 'another process' }).open()
    expect(next.session.memo).toBe('x'.repeat(64))
  })

  test('attaches records to the outcome of an offset, which are published with it, once', async () => {
    const { open, log } = setUp(null)
    const opened = await open()
    const { session, deliver, commit } = opened
    deliver()
    let done = 0
    for (const offset of [2, 3]) session.attach(offset, [buildRecord('later', `with ${offset}`)], () => done++)
    session.settle(2, result(2))
    expect(await intend(opened, 3)).toBe(true)
    session.settle(3, result(3))
    session.settle(3, result(3))
    await commit()
    expect(publishedKeys(log)).toEqual(['2', 'with 2', '3', 'with 3'])
    expect(done).toBe(2)
  })

  test('adds records that belong to no offset, but none to a session that has ended', async () => {
    const { open, log } = setUp({ offset: 2, metadata: '1;another process;8;' })
    const { session, commit, commits } = await open()
    session.add([])
    await commit()
    expect(commits.began).toEqual([])
    session.add([buildRecord('results', 'a')])
    await commit()
    let ran = 0
    session.run(() => ran++)
    session.close()
    session.run(() => ran++)
    session.add([buildRecord('results', 'b')])
    session.recollected([buildRecord('results', 'c')])
    await commit()
    expect([publishedKeys(log), ran]).toEqual([['a'], 1])
  })

  test('knows how much memory it has, and when all that was there at the take-over has been read', async () => {
    const backlog = { records: 40, bytes: 1 << 20 }
    const { open, log } = setUp(null, { backlog })
    const { session, deliver } = await open()
    expect([session.capacity, session.room]).toEqual([backlog, backlog])
    log.append(2)
    expect([session.endAtTakeOver, session.isCaughtUp]).toEqual([6, false])
    deliver(3)
    expect(session.isCaughtUp).toBe(false)
    deliver(1)
    expect(session.isCaughtUp).toBe(true)
  })
})

describe('a window that moves by reading alone', () => {
  /** Whether no commit is running or due. */
  const isAtRest = ({ clock }: ReturnType<typeof buildOwner>, { commits }: OpenSession) =>
    !commits.isRunning && clock.pending === 0

  test('is committed once if settled records are read again', async () => {
    const log = buildLog(3)
    const process = buildOwner(log)
    const first = await process.open()
    first.deliver()
    expect(await intend(first, 0, 1, 2)).toBe(true)
    first.session.close()
    for (const offset of [0, 1, 2]) first.session.settle(offset, result(offset))
    const second = await process.open()
    await second.commit()
    expect(publishedKeys(log)).toEqual(['0', '1', '2'])
    expect(log.committed).toMatchObject({ offset: 0 })
    second.deliver()
    await second.commit()
    expect(log.committed).toMatchObject({ offset: 3 })
    expect(isAtRest(process, second)).toBe(true)
    second.deliver()
    expect(isAtRest(process, second)).toBe(true)
  })

  test('is committed if only a transaction marker was left to read', async () => {
    const log = buildLog(3)
    log.committed = { offset: 3, metadata: '1;another process;8;' }
    log.appendGap(2)
    const process = buildOwner(log)
    const open = await process.open()
    open.deliver()
    await open.commit()
    expect(log.committed).toMatchObject({ offset: 5 })
    expect(isAtRest(process, open)).toBe(true)
  })

  test('is committed once if a transaction marker ends the log', async () => {
    const log = buildLog(1)
    const process = buildOwner(log)
    const open = await process.open()
    await open.commit()
    open.deliver()
    open.session.settle(0, result(0))
    await open.commit()
    log.appendGap()
    open.deliver()
    await open.commit()
    expect(log.committed).toMatchObject({ offset: 2 })
    expect(isAtRest(process, open)).toBe(true)
  })
})

test('calls to a session whose commit failed have no effect', async () => {
  const log = buildLog(2)
  const { open, losses, clock } = buildOwner(log)
  const { session, deliver, commit } = await open()
  deliver()
  session.settle(0, result(0))
  const committed = session.committed()
  await commit('failed')
  await committed
  expect(losses).toEqual(['commit: no answer'])
  expect([session.alive, session.open]).toEqual([false, false])
  session.settle(1, result(1))
  session.release(1)
  expect(await session.intend([1])).toBe(false)
  await session.committed()
  await clock.pass(1_000)
  expect(log.published).toEqual([])
})

test.each(['this process', 'another process'])(
  'a commit counts once, at whatever moment after its answer the session ends: its next owner is %s',
  async tag => {
    for (let ticks = 0; ticks < 12; ticks++) {
      const log = buildLog(3)
      const owner = buildOwner(log)
      const first = await owner.open()
      first.deliver()
      expect(await intend(first, 0)).toBe(true)
      first.session.settle(0, result(0))
      await owner.clock.pass(commitDueMs)
      first.commits.end()
      for (let tick = 0; tick < ticks; tick++) await null
      first.session.end('handle', new Error('a fault'))
      await settled()
      const next = tag === 'this process' ? owner : buildOwner(log, { tag })
      const before = next.listener.fresh.length
      const last = await next.open()
      last.deliver()
      await last.commit()
      expect(next.listener.freshKeys.slice(before)).toEqual(['1', '2'])
      expect([log.published, next.ledger.size]).toEqual([result(0), 0])
    }
  },
)
