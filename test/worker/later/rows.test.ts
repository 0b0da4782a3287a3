import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOf } from '../../../src/worker/later/hashes.ts'
import { OVER, RELEASED, type Row, Rows, WAITING } from '../../../src/worker/later/rows.ts'

const columns = ['account', 'campaign', 'tenant', 'correlation'] as const
const states = [WAITING, RELEASED, OVER] as const
const latest = (2 ** 32 - 1) * 1000

const time = fc.oneof(fc.integer({ min: -5_000, max: 5_000 }), fc.integer({ min: -1, max: 2 ** 50 }))
const name = fc.option(fc.constantFrom('', 'anna', 'ben', 'spring'), { nil: null })
const offset = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 2 ** 48 - 1 }))
const command = fc.record({
  ...{ place: offset, offset, id: fc.bigInt(1n, 2n ** 63n - 1n), state: fc.constantFrom(...states) },
  ...{ account: fc.constantFrom<string[]>('', 'anna', 'shop'), campaign: name, tenant: name, correlationId: name },
  ...{ since: time, expiresAt: time, notBefore: fc.option(time, { nil: null }) },
})
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never

const factsOf = ({ account, campaign, tenant, correlationId, since, expiresAt, notBefore }: Command) => ({
  ...{ account, campaign, tenant, correlationId, since, expiresAt, notBefore },
  ...{ type: 'sms', country: null, timestamp: 0, copyAt: null },
})

function takeIn(rows: Rows, one: Command): Row {
  const key = { topic: 'bulk', partition: 0, offset: one.place, id: one.id }
  const row = rows.take(key, factsOf(one), one.offset)
  rows.setState(row, one.state)
  return row
}

const inSeconds = (ms: number) => Math.min(latest, Math.max(0, ms))

/** What is told of a row, and what of its command. */
const told = (rows: Rows, row: Row) => [
  ...[rows.place(row), rows.offset(row), rows.id(row), rows.state(row)],
  ...columns.map(column => rows.name(row, column)),
  ...[rows.due(row), rows.expiresAt(row), rows.since(row)],
]
const known = (one: Command) => [
  ...[one.place, one.offset, one.id, one.state],
  ...[one.account, one.campaign, one.tenant, one.correlationId].map(hashOf),
  inSeconds(Math.ceil((one.notBefore ?? one.since) / 1000) * 1000),
  inSeconds(Math.ceil(one.expiresAt / 1000) * 1000),
  inSeconds(Math.floor(one.since / 1000) * 1000),
]

test('each command that waits keeps what it came with, and is never due or over before its time', () => {
  const change = fc.record({ add: fc.array(command, { maxLength: 6 }), ends: fc.nat(4), moves: offset })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 8 }), changes => {
      const rows = new Rows()
      const kept = new Map<Row, Command>()
      for (const { add, ends, moves } of changes) {
        for (const one of add) {
          const row = takeIn(rows, one)
          kept.set(row, { ...one })
        }
        for (const [row, one] of [...kept].slice(0, ends)) {
          one.state = states[(one.state + 1) % 3]!
          one.offset = moves
          rows.setState(row, one.state)
          rows.setOffset(row, one.offset)
          if (moves % 2 === 0) continue
          rows.giveBack(row)
          kept.delete(row)
        }
        expect(rows.size).toBe(kept.size)
      }
      expect([...kept.keys()].map(row => told(rows, row))).toEqual([...kept.values()].map(known))
    }),
    { numRuns: 50 },
  )
})

test('seventy thousand commands wait beside each other', () => {
  const [first, ...others] = fc.sample(command, 5)
  const rows = new Rows()
  const all = Array.from({ length: 70_000 }, (_, i) => ({
    ...[first!, ...others][i % 5]!,
    place: i,
    id: BigInt(i + 1),
  }))
  const taken = all.map(one => takeIn(rows, one))
  expect([new Set(taken).size, rows.size]).toEqual([all.length, all.length])
  for (const i of [0, 9, 10_000, 65_534, 65_535, 65_536, 65_537, 69_999])
    expect(told(rows, taken[i]!)).toEqual(known(all[i]!))
})

test('commands of accounts that this process knows are told apart, and all others are one crowd', () => {
  const [one] = fc.sample(command, 1)
  const rows = new Rows(['anna', 'shop'])
  const crowds = ['anna', 'shop', 'ben', '', 'anna'].map(account => rows.crowd(takeIn(rows, { ...one!, account })))
  expect(crowds).toEqual([hashOf('anna'), hashOf('shop'), 0, 0, hashOf('anna')])
})

test('names that many processes give are told apart by their hashes, and none is like no name', () => {
  expect(hashOf(null)).toBe(0)
  const many = 1 << 12
  const patterns = [
    (i: number) => `customer-${i}`,
    (i: number) => `${i}-spring`,
    (i: number) => 'x'.repeat(i % 64) + String.fromCharCode(i >> 6),
    (i: number) => String.fromCharCode(i),
  ]
  for (const nameOf of patterns) {
    const hashes = Array.from({ length: many }, (_, i) => hashOf(nameOf(i)))
    expect(new Set(hashes).size / many).toBeGreaterThan(0.9999)
    for (const bits of [0, 10, 20]) {
      const part = new Set(hashes.map(hash => (hash >>> bits) & (many - 1)))
      expect(part.size / many).toBeGreaterThan(0.55)
    }
    expect(hashes.every(hash => Number.isInteger(hash) && hash > 0 && hash < 2 ** 32)).toBe(true)
  }
})
