import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/bus/port.ts'
import type { LaterEntry, LaterFacts } from '../../../src/records/later.ts'
import { load } from '../../../src/worker/later/load.ts'
import { Rows } from '../../../src/worker/later/rows.ts'
import type { LaterTable, TakeEntry } from '../../../src/worker/later/table.ts'
import { memoOf } from '../../../src/worker/later/table-place.ts'
import { ManualClock } from '../../support/clock.ts'

const facts: LaterFacts = {
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore: null, since: 0, timestamp: 0, expiresAt: 0, copyAt: null },
}
const keyOf = (offset: number) => ({ topic: 'bulk', partition: 9, offset, id: 1n })
const waits = (offset: number): LaterEntry => ({ key: keyOf(offset), state: 'waits', facts })
const over = (offset: number): LaterEntry => ({ key: keyOf(offset), state: 'over', facts: null })
/** Null: a record that cannot be read. */
type Written = [entry: LaterEntry | null, partition: number, offset: number]
const clock = new ManualClock()
const now = clock.now()

/** Loads what waits on a table that holds these records, with what the last owner left. */
async function loadFrom(memo: string | null, written: readonly Written[], error: Error | null = null, after = 'this') {
  const rows = new Rows()
  const reads: [partition: number | null, from: number][] = []
  const session = { topic: 'bulk', partition: 9, memo, uncheckedUntil: 0 } as Session
  const table = {
    identity: async () => (reads.length === 0 ? 'this' : after),
    partitionFor: () => 2,
    async read(_: Session, partition: number | null, from: number, take: TakeEntry) {
      reads.push([partition, from])
      for (const [entry, at, offset] of written)
        if ((partition ?? at) === at && offset >= from) take(entry, { partition: at, offset })
      if (error) throw error
    },
  } as unknown as LaterTable
  const loaded = await load(session, { table, rows, clock }).catch(() => null)
  return { loaded, reads, inMemory: rows.size }
}

const written: Written[] = [
  [waits(1), 4, 10],
  [waits(2), 4, 20],
  [over(1), 4, 30],
  [waits(3), 7, 5],
]

describe('what waits of a partition is read', () => {
  test('from where its last owner says', async () => {
    const memo = memoOf('this', { partition: 4, low: 15 })
    const { loaded, reads } = await loadFrom(memo, written)
    expect(reads).toEqual([[4, 15]])
    expect(loaded).toMatchObject({ partition: 4, low: 15, identity: 'this', replaced: null })
    expect([1, 2, 3].map(offset => loaded!.rows.find(keyOf(offset)) >= 0)).toEqual([false, true, false])
    expect([...loaded!.strays]).toEqual([])
  })

  test('not at all if its last owner says that nothing waits', async () => {
    const { loaded, reads } = await loadFrom(memoOf('this', null), written)
    expect(reads).toEqual([])
    expect(loaded).toMatchObject({ partition: 2, low: 0, identity: 'this', replaced: null })
    expect([loaded!.rows.size, loaded!.strays.size]).toEqual([0, 0])
  })

  test.each([
    ['nobody says where', null, null],
    ['it waited on another table', memoOf('other', { partition: 4, low: 15 }), { partition: 4, low: 15 }],
    ['nothing waited, on another table', memoOf('other', null), null],
  ])('from the beginning of all partitions of the table if %s', async (_, memo, replaced) => {
    const { loaded, reads } = await loadFrom(memo, written)
    expect(reads).toEqual([[null, 0]])
    expect(loaded).toMatchObject({ partition: 4, low: 0, replaced })
    expect(loaded!.rows.size).toBe(2)
    // those of another partition of the table are told of, as long as they wait there
    expect([...loaded!.strays]).toEqual([['bulk/9@3#1', 7]])
  })
})

test('a command that waits on another partition of the table, and ends or moves, is a stray no more', async () => {
  const { loaded } = await loadFrom(null, [...written, [over(3), 7, 6]])
  expect([loaded!.partition, loaded!.strays.size, loaded!.rows.size]).toEqual([4, 0, 1])
})

test('where nothing was ever written, the commands will wait on the usual partition', async () => {
  const { loaded } = await loadFrom(null, [[over(1), 4, 0]])
  expect([loaded!.partition, loaded!.rows.size, loaded!.strays.size]).toEqual([2, 0, 0])
})

test('a table that cannot be read leaves nothing in memory', async () => {
  const { loaded, inMemory } = await loadFrom(null, written, new Error('no answer'))
  expect([loaded, inMemory]).toEqual([null, 0])
})

test('what was due within a minute, and is before a record that cannot be read, may have been released', async () => {
  const due = (offset: number, notBefore: number): LaterEntry => ({
    ...{ key: keyOf(offset), state: 'waits', facts: { ...facts, notBefore } },
  })
  const { loaded } = await loadFrom(null, [
    [due(1, now + 60_000), 4, 10],
    [due(2, now + 61_000), 4, 11],
    [waits(3), 4, 12],
    [null, 4, 13],
    [null, 4, 9],
    [waits(4), 4, 14],
  ])
  const { rows } = loaded!
  const states = [1, 2, 3, 4].map(offset => rows.isReleased(rows.find(keyOf(offset))))
  expect([states, rows.released]).toEqual([[true, false, true, false], 2])
  rows.sort(now, () => false)
  expect(rows.takeDue(10, now, () => false).map(row => rows.keyOf(row).offset)).toEqual([4])
})

test('a table that is made anew while it is read opens no partition, and leaves nothing in memory', async () => {
  const { loaded, inMemory } = await loadFrom(memoOf('this', { partition: 4, low: 15 }), written, null, 'other')
  expect([loaded, inMemory]).toEqual([null, 0])
})
