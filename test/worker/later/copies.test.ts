import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BusRecord, Session } from '../../../src/bus/port.ts'
import { copyOf, type LaterFacts, type LaterKey } from '../../../src/records/later.ts'
import { Copies } from '../../../src/worker/later/copies.ts'
import { Rows } from '../../../src/worker/later/rows.ts'
import { WaitingRows } from '../../../src/worker/later/waiting-rows.ts'

const place = { topic: 'bulk', partition: 3 }
const factsOf = (copy?: string): LaterFacts => ({
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore: null, since: 0, timestamp: 5, expiresAt: 0, copyAt: null, ...(copy !== undefined && { copy }) },
})
const keyOf = (offset: number, overrides: Partial<LaterKey> = {}): LaterKey => ({
  ...{ ...place, offset, id: BigInt(offset + 100), ...overrides },
})

/** A record of the command's partition that says to be a copy of a command that waited. */
function recordOf(key: LaterKey, copy: string | undefined, offset: number): BusRecord {
  const waiting = { offset: 0, timestamp: 5, key: null, value: Buffer.from(`command ${key.offset}`), headers: {} }
  const { headers = {}, value } = copyOf(key, factsOf(copy), waiting)
  return { offset, timestamp: 99, key: null, value, headers }
}

const plainRecord = (offset: number): BusRecord => ({ offset, timestamp: 9, key: null, value: null, headers: {} })

interface State {
  uncheckedUntil: number
  forgotten: Session['forgotten']
  isCaughtUp: boolean
}

/** The copies of a partition on whose table these commands were released, and others wait. */
function open(
  released: readonly number[],
  waiting: readonly number[] = [],
  state: Partial<State> = {},
  all = new Rows(),
) {
  const session = { ...place, uncheckedUntil: 0, forgotten: null, isCaughtUp: false, ...state }
  const rows = new WaitingRows(session, all)
  for (const [at, offset] of released.entries())
    rows.load({ key: keyOf(offset), state: 'released', facts: factsOf(`copy ${offset}`) }, at)
  for (const [at, offset] of waiting.entries())
    rows.load({ key: keyOf(offset), state: 'waits', facts: factsOf() }, 1_000 + at)
  const copies = new Copies(session as unknown as Session, rows)
  const missing = () =>
    copies.takeMissing(Number.POSITIVE_INFINITY).map(({ row, isPast }) => [rows.keyOf(row).offset, isPast])
  return { session, rows, copies, missing }
}

describe('a record is a copy', () => {
  test('if the table says that its command was released with this copy, and once', () => {
    const { copies, rows, missing, session } = open([1, 2], [3])
    const copy = copies.take(recordOf(keyOf(1), 'copy 1', 50), false)!
    expect([copy.key, copy.facts, copy.row]).toEqual([keyOf(1), factsOf('copy 1'), rows.find(keyOf(1))])
    const others = [
      recordOf(keyOf(1), 'copy 1', 50), // delivered again
      recordOf(keyOf(1), 'copy 1', 51),
      recordOf(keyOf(2), 'copy 1', 52),
      recordOf(keyOf(2), undefined, 52),
      recordOf(keyOf(3), undefined, 53), // it waits
      recordOf(keyOf(3), 'copy 3', 53),
      recordOf(keyOf(4), 'copy 4', 54), // no such command
      recordOf(keyOf(2, { id: 7n }), 'copy 2', 55),
      recordOf(keyOf(2, { topic: 'urgent' }), 'copy 2', 56),
      recordOf(keyOf(2, { partition: 4 }), 'copy 2', 57),
      plainRecord(58),
    ]
    expect(others.map(record => copies.take(record, false))).toEqual(others.map(() => null))
    expect([copies.at(50), copies.at(51), copies.isEmpty]).toEqual([copy, undefined, false])
    expect(missing()).toEqual([])
    session.isCaughtUp = true
    expect(missing()).toEqual([[2, false]])
    expect(missing()).toEqual([])
  })

  test('until its outcome is known; then one that is delivered later is new again', () => {
    const { copies } = open([1])
    const record = recordOf(keyOf(1), 'copy 1', 50)
    const copy = copies.take(record, false)!
    copies.remove(50, copy)
    expect([copies.isEmpty, copies.at(50)]).toEqual([true, undefined])
    expect(copies.take(recordOf(keyOf(1), 'copy 1', 60), false)?.row).toBe(copy.row)
  })

  test('only while any command of the partition is released', () => {
    const { copies } = open([], [1])
    expect(copies.take(recordOf(keyOf(1), 'copy 1', 50), false)).toBeNull()
  })

  test('and is read as the record that it was made of', () => {
    const { copies } = open([1])
    const record = recordOf(keyOf(1), 'copy 1', 50)
    expect(copies.originalOf(record)).toBeNull()
    copies.take(record, false)
    const { offset, timestamp, value } = copies.originalOf(record)!
    expect([offset, timestamp, value?.toString()]).toEqual([1, 5, 'command 1'])
    expect(copies.originalOf(plainRecord(51))).toBeNull()
  })
})

describe('a command whose copy is not on the log', () => {
  test('is missing once everything was delivered', () => {
    const { missing, session } = open([4, 2, 9])
    expect(missing()).toEqual([])
    session.isCaughtUp = true
    expect(missing()).toEqual([
      [2, false],
      [4, false],
      [9, false],
    ])
  })

  test.each([
    ['and has ended, if a finished one was delivered', null, true],
    ['and may have been sent, if that one is from before a reset of the progress', { until: 51, owned: true }, false],
    ['and has ended, if that one is from after the reset', { until: 50, owned: true }, true],
  ])('is missing %s', (_, forgotten, isPast) => {
    const { copies, missing } = open([1, 2], [], { isCaughtUp: true, forgotten })
    expect(copies.take(recordOf(keyOf(1), 'copy 1', 50), true)).toBeNull()
    expect([copies.isEmpty, copies.at(50)]).toEqual([true, undefined])
    expect(missing()).toEqual([
      [1, isPast],
      [2, false],
    ])
  })

  test('is none of those whose copy is delivered later, or that this session has released', () => {
    const { copies, rows, missing } = open([1, 2], [3], { isCaughtUp: true })
    rows.release(rows.find(keyOf(3)), 'copy 3')
    copies.take(recordOf(keyOf(3), 'copy 3', 49), true)
    copies.take(recordOf(keyOf(1), 'copy 1', 50), true)
    copies.take(recordOf(keyOf(1), 'copy 1', 51), false)
    copies.take(recordOf(keyOf(3), 'copy 3', 52), false)
    expect(missing()).toEqual([[2, false]])
  })
})

test('copies at lost offsets are those between the first and the last one', () => {
  const { copies } = open([1, 2, 3, 4])
  for (const offset of [1, 2, 3, 4]) copies.take(recordOf(keyOf(offset), `copy ${offset}`, 50 + offset), false)
  const lost = (first: number, last: number) =>
    copies.within(first, last).map(([offset, { key }]) => [offset, key.offset])
  expect([lost(52, 53), lost(0, 51), lost(54, 54), lost(55, 99)]).toEqual([
    [
      [52, 2],
      [53, 3],
    ],
    [[51, 1]],
    [[54, 4]],
    [],
  ])
})

describe('after a reset of the progress, a record that says to be a copy', () => {
  const state = { uncheckedUntil: 60 }

  test('tells of its command, and whether that waits or has ended', () => {
    const { copies, rows } = open([1], [2, 3], state)
    rows.finish(rows.find(keyOf(3)))
    const formerOf = (offset: number, id?: bigint) => copies.formerOf(recordOf(keyOf(offset), 'old copy', 50), id)
    expect([1, 2, 3, 4].map(offset => formerOf(offset)?.isMoved)).toEqual([true, true, true, false])
    expect(formerOf(4)).toMatchObject({ key: keyOf(4), facts: factsOf('old copy') })
    expect([formerOf(2, 102n)?.isMoved, formerOf(2, 103n)]).toEqual([true, null])
  })

  test('is a command like others if it is of another partition, after the reset, or says nothing', () => {
    const { copies } = open([1], [2], state)
    const others = [
      recordOf(keyOf(2, { partition: 4 }), 'old copy', 50),
      recordOf(keyOf(2, { topic: 'urgent' }), 'old copy', 50),
      recordOf(keyOf(2), 'old copy', 60),
      plainRecord(50),
    ]
    expect(others.map(record => copies.formerOf(record))).toEqual(others.map(() => null))
    expect(copies.formerOf(recordOf(keyOf(2), 'old copy', 59))).not.toBeNull()
  })

  test('waits for its outcome if it is the copy of now', () => {
    const { copies } = open([1], [], state)
    const record = recordOf(keyOf(1), 'copy 1', 50)
    copies.take(record, false)
    expect(copies.formerOf(record)).toBeNull()
  })
})

test('however copies, forgeries and outcomes follow each other, each command has one copy at most', () => {
  const step = fc.record({
    of: fc.nat(3),
    copy: fc.nat(3),
    offset: fc.integer({ min: 50, max: 58 }),
    isPast: fc.boolean(),
    ends: fc.boolean(),
  })
  const all = new Rows()
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      const { copies, missing, session } = open([0, 1, 2], [], {}, all)
      const held = new Map<number, number>()
      const unseen = new Set([0, 1, 2])
      const past = new Set<number>()
      for (const { of, copy, offset, isPast, ends } of steps) {
        const taken = copies.take(recordOf(keyOf(of), `copy ${copy}`, offset), isPast)
        const isTrue = of < 3 && of === copy && !held.has(offset) && ![...held.values()].includes(of)
        expect(taken !== null).toBe(isTrue && !isPast)
        if (isTrue && isPast && unseen.has(of)) past.add(of)
        if (taken) {
          held.set(offset, of)
          unseen.delete(of)
        }
        const there = copies.at(offset)
        if (ends && there) {
          copies.remove(offset, there)
          held.delete(offset)
        }
        expect(copies.within(0, 100).map(([at, { key }]) => [at, key.offset])).toEqual([...held])
        expect(copies.isEmpty).toBe(held.size === 0)
      }
      session.isCaughtUp = true
      expect(missing()).toEqual([...unseen].map(offset => [offset, past.has(offset)]))
    }),
  )
})
