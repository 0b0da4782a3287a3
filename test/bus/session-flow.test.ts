import { describe, expect, test } from 'vitest'
import { windowSize } from '../../src/bus/session/window.ts'
import { buildLog, buildOwner, intend, result } from '../support/sessions.ts'

describe('the window', () => {
  test('stops reading at its end while its first command is unfinished, and continues afterwards', async () => {
    const log = buildLog(2 * windowSize)
    const process = buildOwner(log)
    const { session, driver, deliver, commit } = await process.open()
    deliver(windowSize + 100)
    expect(process.listener.fresh).toHaveLength(windowSize)
    expect(driver.paused).toBe(true)
    expect(session.windowUsed).toBe(1)
    for (let offset = 1; offset < windowSize; offset++) session.settle(offset, [])
    await commit()
    expect(process.listener.fresh).toHaveLength(windowSize)
    session.settle(0, [])
    await commit()
    expect(process.listener.fresh).toHaveLength(windowSize + 100)
    expect(driver.paused).toBe(false)
    deliver()
    expect(process.listener.fresh).toHaveLength(2 * windowSize)
    for (let offset = windowSize; offset < 2 * windowSize; offset++) session.settle(offset, [])
    await commit()
    expect(session).toMatchObject({ lag: 0, windowUsed: 0 })
    expect(process.listener.freshKeys).toEqual(log.records.map(({ offset }) => String(offset)))
    expect(process.confirmed.map(({ windowUsed }) => windowUsed)).toEqual([1, expect.any(Number), 0])
  })

  test('accepts a gap larger than itself behind an unfinished command', async () => {
    const log = buildLog(1)
    log.append(1, 3 * windowSize)
    const process = buildOwner(log)
    const { session, deliver, commit } = await process.open()
    deliver()
    expect(process.listener.freshKeys).toEqual(['0'])
    session.settle(0, result(0))
    await commit()
    expect(process.listener.freshKeys).toEqual(['0', String(3 * windowSize + 1)])
  })

  test('commits no offset within an unreadable batch, because the next owner would settle it again', async () => {
    const log = buildLog(1)
    const [first, last] = [1, windowSize]
    const unreadable = { code: 'BATCH_CORRUPT', message: 'its checksum is wrong', lastOffset: last } as const
    log.records.push({ offset: first, timestamp: 0, key: null, value: null, headers: {}, unreadable })
    log.appendGap(last)
    const { session, deliver, commit } = await buildOwner(log).open()
    deliver()
    session.settle(first, result(first))
    await commit()
    expect(log.committed?.offset).toBe(0)
    session.settle(0, result(0))
    await commit()
    expect(log.committed?.offset).toBe(last + 1)
  })
})

describe('back-pressure', () => {
  test.each([
    ['records', { records: 10, bytes: 1 << 30 }],
    ['bytes', { records: 1_000_000, bytes: 10 * (200 + 13 * 11) }],
  ])('stops fetching at the limit of %s, and continues at half of it', async (_, backlog) => {
    const { session, driver, deliver, commit } = await buildOwner(buildLog(100), { backlog }).open()
    deliver(5)
    expect(driver.paused).toBe(false)
    deliver(6)
    expect(driver.paused).toBe(true)
    for (let offset = 0; offset < 5; offset++) session.settle(offset, [])
    await commit()
    expect(driver.paused).toBe(true)
    session.settle(7, [])
    await commit()
    expect(driver.paused).toBe(false)
  })

  test('says that it is full while it can take no more, except records that wait for the window', async () => {
    const { session, driver, deliver, commit } = await buildOwner(buildLog(100), {
      backlog: { records: 10, bytes: 1 << 30 },
    }).open()
    const states: boolean[][] = []
    const note = () => states.push([session.full, driver.paused])
    const settle = async (from: number, to: number) => {
      for (let offset = from; offset < to; offset++) session.settle(offset, [])
      await commit()
    }
    deliver(5)
    note()
    deliver(5)
    note()
    deliver(1) // it was on its way
    note()
    await settle(0, 5)
    note()
    await settle(5, 6)
    note()
    expect(states).toEqual([
      [false, false],
      [true, true],
      [true, true],
      [true, true],
      [false, false],
    ])
    const log = buildLog(windowSize + 1)
    const narrow = await buildOwner(log).open()
    narrow.deliver()
    expect([narrow.session.full, narrow.driver.paused]).toEqual([false, true])
  })

  test('delivers no record while the listener handles others, and none after it has failed', async () => {
    const log = buildLog(6)
    log.records.splice(0, 6, ...log.records.map(record => ({ ...record, key: null, value: Buffer.alloc(40_000) })))
    const process = buildOwner(log)
    let depth = 0
    const depths: number[] = []
    process.listener.onFresh = (session, records) => {
      depths.push(++depth)
      session.shelve(records.map(({ offset }) => offset))
      depth--
      if (process.listener.fresh.length > 3) throw new Error('it fails')
    }
    const { deliver } = await process.open()
    deliver()
    expect(process.listener.fresh.length).toBeGreaterThan(3)
    expect(process.listener.fresh.length).toBeLessThan(6)
    expect(new Set(depths)).toEqual(new Set([1]))
    expect(process.losses).toEqual(['handle: it fails'])
  })

  test('counts the decoded command of a record until the record is settled', async () => {
    const log = buildLog(100)
    const [first, second] = log.records
    const process = buildOwner(log, { backlog: { records: 1_000, bytes: 10_000 } })
    const { session, driver, deliver, commit } = await process.open()
    deliver(2)
    expect(session.made(first!, 5_000)).toBeGreaterThan(5_000)
    session.made(second!, 5_000)
    deliver(8)
    expect([process.listener.freshKeys, driver.paused]).toEqual([['0', '1'], true])
    session.settle(0, [])
    expect(session.made(first!, 5_000)).toBe(0)
    await commit()
    expect(process.listener.fresh).toHaveLength(10)
  })

  test('reads only as many records as their commands fit into memory', async () => {
    const log = buildLog(50)
    log.records.splice(0, 50, ...log.records.map(record => ({ ...record, key: null, value: Buffer.alloc(20_000) })))
    const process = buildOwner(log, { backlog: { records: 1_000, bytes: 1 << 20 } })
    const { session, deliver, commit } = await process.open()
    const delivered = () => process.listener.fresh.length
    deliver()
    const first = delivered()
    expect(first * 12 * 20_000).toBeLessThan(2 << 20)
    for (const record of log.records.slice(0, first)) session.made(record, 1_000)
    session.settle(0, [])
    await commit()
    expect(delivered()).toBeGreaterThan(first)
    expect(delivered()).toBeLessThanOrEqual(2 * first)
  })

  test('delivers a few records at a time, so that their commands count before more come', async () => {
    const log = buildLog(50)
    log.records.splice(0, 50, ...log.records.map(record => ({ ...record, key: null, value: Buffer.alloc(20_000) })))
    const process = buildOwner(log, { backlog: { records: 1_000, bytes: 1 << 20 } })
    process.listener.onFresh = (session, records) => {
      for (const record of records) session.made(record, 240_000)
    }
    const { session, deliver, commit } = await process.open()
    deliver()
    expect(process.listener.fresh.length).toBeLessThan(12)
    for (let offset = 0; offset < 50; offset++) {
      session.settle(offset, [])
      await commit()
    }
    expect(process.listener.fresh).toHaveLength(50)
  })

  test('counts a command that is settled twice only once, and publishes one result', async () => {
    const log = buildLog(100)
    const { session, driver, deliver, commit } = await buildOwner(log, {
      backlog: { records: 4, bytes: 1 << 30 },
    }).open()
    deliver(4)
    for (let i = 0; i < 3; i++) session.settle(0, result(0))
    await commit()
    session.settle(0, result(0))
    await commit()
    expect(log.published).toEqual(result(0))
    expect(driver.paused).toBe(true)
  })
})

describe('a shelved record', () => {
  const small = { backlog: { records: 4, bytes: 1 << 30 } }

  test('frees memory for later ones, and is delivered only once', async () => {
    const process = buildOwner(buildLog(8), small)
    const { session, driver, deliver } = await process.open()
    deliver(4)
    expect([session.full, driver.paused]).toEqual([true, true])
    session.shelve([1, 2, 3])
    expect([session.full, driver.paused]).toEqual([false, false])
    deliver()
    expect(process.listener.freshKeys).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
  })

  test('is read again alone when it is recalled, and reading continues where it was', async () => {
    const process = buildOwner(buildLog(12))
    const { session, driver, deliver } = await process.open()
    deliver(8)
    session.shelve([2, 3, 4, 5])
    session.recall([4, 2, 3])
    expect([session.recalling, driver.position]).toEqual([true, 2])
    deliver(1)
    deliver(2)
    expect([session.recalling, driver.position]).toEqual([false, 8])
    expect(process.listener.recalledKeys).toEqual(['2', '3', '4'])
    deliver()
    expect(process.listener.freshKeys).toEqual(Array.from({ length: 12 }, (_, i) => String(i)))
    expect(process.listener.recalledKeys).toEqual(['2', '3', '4'])
  })

  test('is read again although the window is full and the memory is nearly full', async () => {
    const log = buildLog(windowSize + 5)
    const process = buildOwner(log, { backlog: { records: windowSize, bytes: 1 << 30 } })
    const { session, driver, deliver, commit } = await process.open()
    deliver()
    expect(process.listener.fresh).toHaveLength(windowSize)
    session.shelve([0])
    expect(driver.paused).toBe(true)
    session.recall([0])
    expect(driver.paused).toBe(false)
    deliver(1)
    expect(process.listener.recalledKeys).toEqual(['0'])
    expect(driver.paused).toBe(true)
    session.settle(0, result(0))
    await commit()
    expect(log.committed?.offset).toBe(1)
    expect(process.listener.fresh).toHaveLength(windowSize + 1)
  })

  test('counts as lost if it is no longer in the log, and is the only one that does', async () => {
    const log = buildLog(windowSize + 5)
    const process = buildOwner(log)
    const { session, deliver, commit } = await process.open()
    deliver()
    session.shelve([0])
    log.records.shift()
    session.recall([0])
    deliver()
    expect(process.lost).toEqual([{ ranges: [{ kind: 'unchecked', first: 0, last: 0 }] }])
    expect(session.recalling).toBe(false)
    await commit()
    expect(log.committed?.offset).toBe(1)
    expect(process.listener.fresh).toHaveLength(windowSize + 1)
  })

  test('counts in memory again, and is announced once, also if the log has lost it', async () => {
    const log = buildLog(8)
    const process = buildOwner(log, small)
    const calls: number[] = []
    Object.assign(process.listener, { recalled: (_: unknown, { length }: unknown[]) => calls.push(length) })
    const { session, driver, deliver } = await process.open()
    deliver(4)
    session.shelve([0, 1, 2])
    session.recall([0, 1, 2])
    deliver(3)
    expect([calls, session.full, driver.paused]).toEqual([[3], true, true])
    session.shelve([0, 1, 2])
    deliver(1)
    log.records.splice(1, 1)
    session.recall([1])
    deliver(2)
    expect([calls, session.recalling]).toEqual([[3, 0], false])
  })

  test('is recalled only if it is one: not a settled, held or lost record, and none of which nothing is known yet', async () => {
    const process = buildOwner(buildLog(8))
    const { session, driver, deliver, commit } = await process.open()
    deliver(6)
    session.shelve([2, 4])
    for (const offset of [0, 2]) session.settle(offset, [])
    await commit()
    session.recall([0, 1, 2, 3, 5, 6, 7])
    expect([session.recalling, driver.position]).toEqual([false, 6])
    void session.intend([4])
    session.recall([4])
    expect([session.recalling, driver.position]).toEqual([false, 6])
  })

  test('can be sent, settled and shelved again like any other', async () => {
    const log = buildLog(3)
    const process = buildOwner(log, small)
    const opened = await process.open()
    const { session, deliver, commit } = opened
    deliver()
    session.shelve([0, 1])
    session.recall([0, 1])
    deliver()
    session.shelve([1])
    expect(await intend(opened, 0, 2)).toBe(true)
    session.settle(0, result(0))
    session.settle(2, result(2))
    session.recall([1])
    deliver()
    session.settle(1, result(1))
    await commit()
    expect(process.listener.recalledKeys).toEqual(['0', '1', '1'])
    expect(session).toMatchObject({ lag: 0, windowUsed: 0 })
  })

  test('in a batch that has become unreadable is delivered as unreadable on its own', async () => {
    const log = buildLog(5)
    const process = buildOwner(log)
    const { session, deliver } = await process.open()
    deliver()
    session.shelve([0, 1, 2, 3, 4])
    const unreadable = { code: 'BATCH_CORRUPT', message: 'its checksum is wrong', lastOffset: 3 } as const
    log.records.splice(0, 4, { offset: 1, timestamp: 0, key: null, value: null, headers: {}, unreadable })
    session.recall([0, 1, 2, 3, 4])
    deliver()
    expect(session.recalling).toBe(false)
    expect(
      process.listener.recalls.map(({ record: { offset, unreadable } }) => [offset, unreadable?.lastOffset]),
    ).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, undefined],
    ])
    expect(process.lost.map(({ ranges }) => ranges)).toEqual([[{ kind: 'unchecked', first: 0, last: 0 }]])
  })
})

test('a session whose partition stays over a rebalance continues where it was, paused or not', async () => {
  const process = buildOwner(buildLog(20), { backlog: { records: 10, bytes: 1 << 30 } })
  const { session, driver, deliver } = await process.open()
  deliver(6)
  session.hold()
  session.resume()
  expect([session.open, driver.paused, driver.position]).toEqual([true, false, 6])
  deliver(6)
  expect(driver.paused).toBe(true)
  session.hold()
  session.resume()
  expect([session.open, driver.paused, driver.position, driver.seeks.length]).toEqual([true, true, 12, 1])
  expect(process.listener.freshKeys).toEqual(Array.from({ length: 12 }, (_, i) => String(i)))
})

test('a batch from an earlier session of the partition is not accepted', async () => {
  const process = buildOwner(buildLog(10))
  const { session, driver, deliver } = await process.open()
  deliver(4)
  for (const from of [3, 5]) {
    driver.position = from
    deliver()
    expect([session.position, driver.position]).toEqual([4, 4])
  }
  expect(process.listener.fresh).toHaveLength(4)
})
