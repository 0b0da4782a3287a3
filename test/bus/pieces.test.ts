import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { FetchedRecords } from '../../src/bus/read/fetch.ts'
import { type Piece, TickBudget } from '../../src/bus/read/tick-budget.ts'
import { noHeaders } from '../../src/bus/record-headers.ts'

/** The records of a fetch from an offset on, with a gap of ten offsets behind them. */
function fetched(from: number, count: number): FetchedRecords {
  const ordinary = { key: null, value: null, headers: noHeaders, timestamp: 0 }
  const records = Array.from({ length: count }, (_, i) => ({ ...ordinary, offset: from + i }))
  return {
    ok: true,
    records,
    next: from + count + 10,
    highWatermark: 100_000,
    stableOffset: 100_000,
    preferredReplica: -1,
  }
}

const offsetsOf = (pieces: readonly Piece[]) => pieces.flatMap(({ records }) => records.map(({ offset }) => offset))

test('a large fetch is processed over several turns of the event loop, each record once and in order', async () => {
  const given: Piece[] = []
  let turns = 0
  let isDone = false
  const taken = new TickBudget().give(fetched(100, 1_000), 90, piece => given.push(piece) > 0)
  void taken!.then(() => {
    isDone = true
  })
  while (!isDone) {
    const before = given.length
    await setImmediate()
    turns++
    expect(given.length - before).toBeLessThanOrEqual(1)
  }
  expect(turns).toBeGreaterThan(2)
  expect(offsetsOf(given)).toEqual(Array.from({ length: 1_000 }, (_, i) => 100 + i))
  expect(given[0]!.from).toBe(90)
  expect(given.at(-1)!.next).toBe(1_110)
  for (const [i, { from }] of given.slice(1).entries()) expect(from).toBe(given[i]!.next)
})

test('a few records are processed at once, whatever else is in progress', () => {
  const pieces = new TickBudget()
  const given: Piece[] = []
  const give = (piece: Piece) => given.push(piece) > 0
  expect(pieces.give(fetched(0, 3), 0, give)).toBeUndefined()
  expect(pieces.give(fetched(0, 5_000), 0, give)).toBeInstanceOf(Promise)
  expect(pieces.give(fetched(7, 2), 7, give)).toBeUndefined()
  expect(given.map(({ from, next }) => [from, next])).toEqual([
    [0, 13],
    [7, 19],
  ])
})

test('large partitions take turns, and a small one does not wait for the end of a large one', async () => {
  const pieces = new TickBudget()
  const order: string[] = []
  const giveAs = (name: string) => () => order.push(name) > 0
  await Promise.all([
    pieces.give(fetched(0, 2_000), 0, giveAs('large')),
    pieces.give(fetched(0, 2_000), 0, giveAs('other')),
    pieces.give(fetched(0, 50), 0, giveAs('small')),
  ])
  expect(order.indexOf('small')).toBe(2)
  expect(order.slice(0, 6)).toEqual(['large', 'other', 'small', 'large', 'other', 'large'])
})

test('a reader that moved meanwhile gets no more records', async () => {
  let given = 0
  await new TickBudget().give(fetched(0, 2_000), 0, () => ++given < 2)
  expect(given).toBe(2)
})

test('a reader that works asynchronously gets a piece only when it has finished the one before', async () => {
  let working = 0
  const given: Piece[] = []
  await new TickBudget().give(fetched(0, 1_000), 0, async piece => {
    given.push(piece)
    expect(++working).toBe(1)
    await setImmediate()
    working--
    return true
  })
  expect(offsetsOf(given)).toEqual(Array.from({ length: 1_000 }, (_, i) => i))
  expect(Math.max(...given.map(({ records }) => records.length))).toBeLessThanOrEqual(256)
})
