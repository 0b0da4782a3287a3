import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { LaterFacts } from '../../src/records/later.ts'
import { hashOf } from '../../src/worker/later/hashes.ts'
import { RowHeap } from '../../src/worker/later/row-heap.ts'
import { type Row, Rows } from '../../src/worker/later/rows.ts'
import { WaitingRows } from '../../src/worker/later/waiting-rows.ts'

const session = { topic: 'commands', partition: 0, uncheckedUntil: 0 }
const facts = (notBefore: number): LaterFacts => ({
  ...{ account: 'default', type: 'sms', correlationId: null, tenant: null, campaign: null, country: null },
  ...{ notBefore, since: 0, timestamp: 0, expiresAt: 1e9, copyAt: null },
})

/** A command, as a list of them would have it. */
interface Listed {
  offset: number
  id: number
  account: string
  due: number
  expires: number
  state: 'waits' | 'released'
}

const accounts = ['a', 'b', 'c']
const anyAccount = fc.constantFrom(...accounts)
const anySecond = fc.nat(50).map(second => second * 1000)

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      id: fc.integer({ min: 1, max: 20 }),
      account: anyAccount,
      due: anySecond,
      expires: anySecond,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('release' as const),
      most: fc.nat(8),
      after: fc.nat(10),
      bound: fc.option(fc.nat(12), { nil: Number.POSITIVE_INFINITY }),
      ends: fc.array(fc.boolean(), { maxLength: 8 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish' as const), one: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pause' as const), paused: fc.subarray(accounts) }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** What waits, in a list beside it. */
class Model {
  readonly all = new Rows()
  readonly rows = new WaitingRows(session, this.all)
  readonly #hashes = new Map(accounts.map(account => [hashOf(account), account]))
  #listed: Listed[] = []
  #paused: readonly string[] = []
  #next = 0
  #now = 0

  apply(one: Step): void {
    if (one.do === 'add') this.#add(one)
    else if (one.do === 'release') this.#release(one)
    else if (one.do === 'finish' && this.#listed.length > 0) this.#finish(this.#listed[one.one % this.#listed.length]!)
    else if (one.do === 'pause') {
      this.#paused = one.paused
      this.rows.review()
    }
  }

  check(): void {
    const { rows } = this
    for (const account of accounts) {
      for (let id = 1; id <= 20; id++) {
        const own = this.#listed.filter(one => one.id === id && one.account === account)
        expect(rows.hasId(account, BigInt(id))).toBe(own.length > 0)
        for (const { offset } of own) {
          expect(rows.hasId(account, BigInt(id), offset)).toBe(own[0]!.offset < offset)
          expect(rows.find({ id: BigInt(id), offset })).toBe(this.#rowOf({ offset, id }))
        }
      }
    }
    const released = this.#listed.filter(({ state }) => state === 'released')
    expect(rows.size).toBe(this.#listed.length)
    expect(rows.movedUntil).toBe(this.#next)
    expect(rows.released).toBe(released.length)
    expect(rows.releasedRows.map(row => rows.keyOf(row).offset)).toEqual(released.map(({ offset }) => offset))
    const matching = [...rows.matching(row => this.#accountOf(row) === 'a')].flat()
    const waiting = this.#listed.filter(({ state, account }) => state === 'waits' && account === 'a')
    expect(matching.map(row => rows.keyOf(row).offset).sort()).toEqual(waiting.map(({ offset }) => offset).sort())
  }

  #add({ id, account, due, expires }: Extract<Step, { do: 'add' }>): void {
    const offset = this.#next++
    this.rows.add(
      { ...session, offset, id: BigInt(id) },
      { ...facts(due), account, expiresAt: expires },
      offset + 1_000,
    )
    this.#listed.push({ offset, id, account, due, expires, state: 'waits' })
  }

  #finish(one: Listed): void {
    this.rows.finish(this.#rowOf(one))
    this.#listed = this.#listed.filter(other => other !== one)
  }

  #release({ most, after, bound, ends }: Extract<Step, { do: 'release' }>): void {
    const { rows } = this
    this.#now += after * 1000
    const now = this.#now
    const isPaused = (row: Row) => this.#paused.includes(this.#accountOf(row))
    for (let looks = 0; rows.sort(now, isPaused) || rows.nextAt <= now; looks++) expect(looks).toBeLessThan(100)
    const waiting = this.#listed.filter(({ state }) => state === 'waits')
    for (const { due } of waiting) if (due > now) expect(rows.nextAt).toBeLessThanOrEqual(due)
    const ready = waiting.filter(
      ({ due, expires, account }) => due <= now && (expires <= now || !this.#paused.includes(account)),
    )
    const released = this.#listed.filter(({ state }) => state === 'released')
    if (ready.length > 0) expect(rows.mayTake(Number.POSITIVE_INFINITY)).toBe(true)
    expect(rows.mayTake(released.length)).toBe(false)

    const taken = rows.takeDue(most, now, isPaused, bound)
    const offsets = taken.map(row => rows.offsetOf(row))
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
    const found = taken.map(row => ready.find(({ offset }) => offset === rows.keyOf(row).offset)!)
    expect(new Set(found).size).toBe(taken.length)
    expect(found).not.toContain(undefined)
    if (bound === Number.POSITIVE_INFINITY) expect(taken.length).toBe(Math.min(most, ready.length))
    else if (released.length === 0 && bound > 0 && most > 0 && ready.length > 0) expect(taken).not.toEqual([])
    expect(taken.length).toBeLessThanOrEqual(most)
    expect(released.length + taken.length).toBeLessThanOrEqual(Math.max(bound, released.length))
    for (const account of new Set(found.map(one => one.account))) {
      const own = [...released, ...found].filter(one => one.account === account).length
      expect(released.length + own).toBeLessThanOrEqual(bound)
    }
    for (const [i, row] of taken.entries()) {
      expect(rows.isWaiting(row)).toBe(true)
      if (ends[i]) this.#finish(found[i]!)
      else if (i % 3 > 0) {
        rows.release(row, `copy ${found[i]!.offset}`)
        found[i]!.state = 'released'
        expect(rows.isReleasedAs(row, `copy ${found[i]!.offset}`)).toBe(true)
        expect(rows.isReleasedAs(row, 'another copy')).toBe(false)
      }
      if (!rows.isReleased(row)) rows.putBack(row)
    }
  }

  #accountOf(row: Row): string {
    return this.#hashes.get(this.all.name(row, 'account'))!
  }

  #rowOf({ offset, id }: Pick<Listed, 'offset' | 'id'>): Row {
    const row = this.rows.find({ id: BigInt(id), offset })
    expect(this.rows.keyOf(row)).toEqual({ topic: 'commands', partition: 0, offset, id: BigInt(id) })
    return row
  }
}

test('what waits is found by its id, and is due once, in its time, whatever ends or is paused meanwhile', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), steps => {
      const model = new Model()
      for (const one of steps) model.apply(one)
      model.check()
      model.rows.clear()
      expect(model.all.size).toBe(0)
    }),
  )
})

test('what is due is found in its time, however many have ended around it', () => {
  const anyDues = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 3_000, maxLength: 3_000 })
  fc.assert(
    fc.property(fc.noShrink(anyDues), fc.integer({ min: 2, max: 9 }), (dues, keptPart) => {
      const all = new Rows()
      const rows = new WaitingRows(session, all)
      const found = dues.map((due, id) => rows.add({ ...session, offset: id, id: BigInt(id) }, facts(due * 1000), id))
      for (const [i, row] of found.entries()) if (i % keptPart > 0) rows.finish(row)
      for (let now = 0; now <= 1_000; now += 50) {
        while (rows.sort(now * 1000, () => false)) {}
        for (const row of rows.takeDue(4_000, now * 1000, () => false)) rows.finish(row)
        expect(rows.size).toBe(dues.filter((due, i) => i % keptPart === 0 && due > now).length)
      }
    }),
    { numRuns: 3 },
  )
})

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
      const moved = entries.flatMap(({ id, state }) => (state === 'over' ? [] : id + 1))
      expect(rows.movedUntil).toBe(Math.max(0, ...moved))
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
  for (const offset of [0, 1, 4]) {
    const key = { ...session, offset, id: 7n }
    rows.finish(rows.add(key, facts(0), offset))
  }
  expect([0, 1, 4, 5].map(offset => rows.hasEnded({ offset, id: 7n }))).toEqual([true, true, true, false])
  expect(rows.hasEnded({ offset: 1, id: 8n })).toBe(false)
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

test('the end of a pause frees at once what it held, however much waits and however often pauses change', () => {
  const rows = new WaitingRows(session, new Rows())
  const many = 9 * 1_024 + 1
  for (let i = 0; i < many; i++) rows.add({ ...session, offset: i, id: BigInt(i + 1) }, facts(1_000), i)
  const sortAll = (isPaused: (row: Row) => boolean) => {
    while (rows.sort(1_000, isPaused) || rows.nextAt <= 1_000) {}
  }
  sortAll(() => true)
  expect([rows.nextAt, rows.mayTake(many)]).toEqual([1e9, false])
  rows.review()
  rows.sort(1_000, () => true)
  rows.review() // while the first look is not over
  sortAll(() => false)
  const taken = rows.takeDue(many, 1_000, () => false)
  for (let more = taken; more.length > 0; taken.push(...more)) more = rows.takeDue(many, 1_000, () => false)
  expect(taken.length).toBe(many)
  expect(rows.nextAt).toBe(Number.POSITIVE_INFINITY)
})

test('the rows that are due are found in steps, each of which tells whether there are more', () => {
  const rows = new WaitingRows(session, new Rows())
  for (let offset = 0; offset < 2_500; offset++)
    rows.add({ topic: 'commands', partition: 0, offset, id: BigInt(offset + 1) }, facts(0), offset)
  const sort = () => rows.sort(1_000, () => false)
  expect([sort(), sort(), sort(), sort()]).toEqual([true, true, false, false])
})
