import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { LaterFacts } from '../../src/records/later.ts'
import { RowHeap } from '../../src/worker/later/row-heap.ts'
import { type Row, Rows } from '../../src/worker/later/rows.ts'
import { WaitingRows } from '../../src/worker/later/waiting-rows.ts'

const session = { topic: 'commands', partition: 0, uncheckedUntil: 0 }
const facts = (notBefore: number): LaterFacts => ({
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore, since: 0, timestamp: 0, expiresAt: 1e9, copyAt: null },
})

/** What waits, as a map of ids would have it. */
interface Model {
  dues: Map<number, number>
  released: Set<number>
  offset: number
  now: number
}

const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), id: fc.integer({ min: 1, max: 60 }), due: fc.nat(50) }),
  fc.record({ do: fc.constant('release' as const), most: fc.nat(8), after: fc.nat(10) }),
  fc.record({ do: fc.constant('finish' as const), id: fc.integer({ min: 1, max: 60 }) }),
)

test('what waits is found by its id, and is due once, in its time, whatever ends meanwhile', () => {
  const all = new Rows()
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), steps => {
      const rows = new WaitingRows(session, all)
      const model: Model = { dues: new Map(), released: new Set(), offset: 0, now: 0 }
      for (const one of steps) apply(one, rows, model)
      for (let id = 1; id <= 60; id++)
        expect(rows.hasId('default', BigInt(id))).toBe(model.dues.has(id) || model.released.has(id))
      expect(rows.size).toBe(model.dues.size + model.released.size)
      expect(rows.released).toBe(model.released.size)
      rows.clear()
      expect(all.size).toBe(0)
    }),
  )
})

function apply(one: typeof step extends fc.Arbitrary<infer S> ? S : never, rows: WaitingRows, model: Model): void {
  const rowOf = (id: number): Row => rows.find({ id: BigInt(id), offset: id })
  if (one.do === 'add') {
    if (model.dues.has(one.id) || model.released.has(one.id)) return
    rows.add({ ...session, offset: one.id, id: BigInt(one.id) }, facts(one.due * 1000), model.offset++)
    model.dues.set(one.id, one.due * 1000)
  } else if (one.do === 'finish') {
    if (rowOf(one.id) >= 0) rows.finish(rowOf(one.id))
    model.dues.delete(one.id)
    model.released.delete(one.id)
  } else {
    model.now += one.after * 1000
    rows.sort(model.now, () => false)
    const taken = rows.takeDue(one.most, model.now, () => false)
    const offsets = taken.map(row => rows.offsetOf(row))
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    const due = [...model.dues.values()].filter(at => at <= model.now).length
    expect(taken.length).toBeLessThanOrEqual(Math.min(one.most, due))
    if (one.most > 0 && due > 0) expect(taken.length).toBeGreaterThan(0)
    for (const row of taken) {
      const id = Number(rows.keyOf(row).id)
      expect(model.dues.get(id)).toBeLessThanOrEqual(model.now)
      rows.release(row, String(row))
      model.dues.delete(id)
      model.released.add(id)
    }
  }
}

const entry = fc.record({
  id: fc.integer({ min: 1, max: 40 }),
  state: fc.constantFrom(...(['waits', 'released', 'over'] as const)),
  due: fc.nat(50),
})

test('what is read from the table is due in its time, by the last record of each key', () => {
  const all = new Rows()
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 300 }), entries => {
      const rows = new WaitingRows(session, all)
      const last = new Map<number, { state: string; due: number }>()
      for (const [offset, { id, state, due }] of entries.entries()) {
        const key = { ...session, offset: id, id: BigInt(id) }
        rows.load(state === 'over' ? { key, state, facts: null } : { key, state, facts: facts(due * 1000) }, offset)
        last.set(id, { state, due })
      }
      const idsOf = (state: string, now = 50) =>
        [...last].filter(([, one]) => one.state === state && one.due <= now).map(([id]) => id)
      expect(rows.releasedRows.map(row => Number(rows.keyOf(row).id)).sort()).toEqual(idsOf('released').sort())
      const due: number[] = []
      for (const now of [10, 25, 50]) {
        while (rows.sort(now * 1000, () => false)) {}
        due.push(...rows.takeDue(1_000, now * 1000, () => false).map(row => Number(rows.keyOf(row).id)))
        expect(due.toSorted()).toEqual(idsOf('waits', now).toSorted())
      }
      rows.clear()
      expect(all.size).toBe(0)
    }),
  )
})

test('of many that wait, exactly those are found that have not ended', () => {
  const all = new Rows()
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1_000, maxLength: 1_000 }), ends => {
      const rows = new WaitingRows(session, all)
      for (const id of ends.keys()) rows.add({ ...session, offset: id, id: BigInt(id) }, facts(1_000), id)
      for (const [id, ended] of ends.entries()) if (ended) rows.finish(rows.find({ id: BigInt(id), offset: id }))
      expect([...ends.keys()].map(id => rows.hasId('default', BigInt(id)))).toEqual(ends.map(ended => !ended))
      rows.clear()
    }),
    { numRuns: 20 },
  )
})

test('an id waits for each account apart, whichever of them end', () => {
  const all = new Rows()
  const accounts = ['default', 'shop', 'bank']
  const one = fc.record({ id: fc.bigInt(1n, 4n), account: fc.constantFrom(...accounts), ends: fc.boolean() })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 60, size: 'max' }), waiting => {
      const rows = new WaitingRows(session, all)
      const keyOf = (offset: number) => ({ ...session, offset, id: waiting[offset]!.id })
      for (const [i, { account }] of waiting.entries()) rows.add(keyOf(i), { ...facts(1_000), account }, i)
      for (const [i, { ends }] of waiting.entries()) if (ends) rows.finish(rows.find(keyOf(i)))
      expect(waiting.map((_, i) => rows.find(keyOf(i)) >= 0)).toEqual(waiting.map(({ ends }) => !ends))
      for (const account of accounts)
        for (let id = 1n; id <= 5n; id++)
          for (const before of [0, 30, 60])
            expect(rows.hasId(account, id, before)).toBe(
              waiting.some((one, i) => !one.ends && one.account === account && one.id === id && i < before),
            )
      rows.clear()
    }),
  )
})

test('one id with any number of made-up accounts is looked up as quickly as other ids', () => {
  let looks = 0
  class Counted extends Rows {
    override id(row: Row): bigint {
      looks++
      return super.id(row)
    }
  }
  const rows = new WaitingRows(session, new Counted())
  const many = 20_000
  for (let offset = 0; offset < many; offset++) {
    const account = `account-${offset}`
    expect(rows.hasId(account, 7n)).toBe(false)
    rows.add({ ...session, offset, id: 7n }, { ...facts(1_000), account }, offset)
  }
  for (let offset = 0; offset < many; offset++) rows.finish(rows.find({ id: 7n, offset }))
  expect(rows.size).toBe(0)
  expect(looks / many).toBeLessThan(100)
})

test('what has ended takes no room until its time, however much there was', () => {
  const all = new Rows()
  const rows = new WaitingRows(session, all)
  const found = Array.from({ length: 20_000 }, (_, id) =>
    rows.add({ ...session, offset: id, id: BigInt(id + 1) }, facts(1_000_000 + id), id),
  )
  rows.sort(0, () => false)
  for (const row of found.slice(100)) rows.finish(row)
  expect(rows.size).toBe(100)
  expect(all.size).toBeLessThan(10_000)
})

test('ended commands are told apart by their places, though accounts have the same ids', () => {
  const rows = new WaitingRows({ ...session, uncheckedUntil: 100 }, new Rows())
  for (const offset of [3, 4]) {
    const key = { ...session, offset, id: 7n }
    rows.finish(rows.add(key, facts(0), offset))
  }
  expect([3, 4, 5].map(offset => rows.hasEnded({ offset, id: 7n }))).toEqual([true, true, false])
  expect(rows.hasEnded({ offset: 3, id: 8n })).toBe(false)
})

test('the withdrawal of a paused campaign looks through its queue few times, however many wait', () => {
  const rows = new WaitingRows(session, new Rows())
  const looked = vi.spyOn(RowHeap.prototype, 'keep')
  onTestFinished(() => looked.mockRestore())
  const all = Array.from({ length: 30_000 }, (_, i) =>
    rows.add({ ...session, offset: i, id: BigInt(i + 1) }, facts(0), i),
  )
  while (rows.sort(1, () => true)) {}
  for (const row of all) rows.finish(row)
  expect(rows.size).toBe(0)
  expect(looked.mock.contexts.filter(queue => queue === looked.mock.contexts[0]).length).toBeLessThan(10)
})
