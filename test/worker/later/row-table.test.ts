import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hashOfId } from '../../../src/worker/later/hashes.ts'
import { RowTable, shards } from '../../../src/worker/later/row-table.ts'
import type { Row } from '../../../src/worker/later/rows.ts'

/** Hashes that often fall into the same shard, slot and tag, also at the end of a shard's slots. */
const anyHash = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc
    .record({ tag: fc.nat(2), slot: fc.nat(40), shard: fc.nat(1) })
    .map(at => at.tag * 2 ** 24 + at.slot * 16 + at.shard),
)
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ add: fc.array(anyHash, { minLength: 1, maxLength: 12 }) }) },
  { weight: 4, arbitrary: fc.record({ remove: fc.array(fc.nat(), { minLength: 1, maxLength: 8 }) }) },
)

test('what waits is found by its hash until it is removed, however many have the same one', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), steps => {
      const hashes: number[] = []
      const table = new RowTable(row => hashes[row]!)
      let held: Row[] = []
      for (const step of steps) {
        if ('add' in step)
          for (const hash of step.add) {
            const row = hashes.push(hash) - 1
            table.add(row)
            held.push(row)
          }
        else
          for (const one of step.remove) {
            const row = one % (hashes.length + 1)
            if (row < hashes.length) table.remove(row)
            held = held.filter(other => other !== row)
          }
        const found = [...hashes.keys()].filter(row => table.find(hashes[row]!, other => other === row) === row)
        expect(found).toEqual(held)
        expect(table.size).toBe(held.length)
        const shown = Array.from({ length: shards }, (_, shard) => {
          const own: Row[] = []
          table.each(shard, row => own.push(row))
          return own.sort((a, b) => a - b)
        })
        const byShard = Map.groupBy(held, row => hashes[row]! % shards)
        expect(shown).toEqual(Array.from({ length: shards }, (_, shard) => byShard.get(shard) ?? []))
      }
      expect(table.find(12_345, () => false)).toBe(-1)
    }),
  )
})

test('a look for one that waits meets no other of another hash', () => {
  const hashes = Array.from({ length: 5_000 }, (_, row) => row * 104_729 + 1)
  const table = new RowTable(row => hashes[row]!)
  for (const row of hashes.keys()) table.add(row)
  let met = 0
  for (const [row, hash] of hashes.entries())
    table.find(hash, other => {
      if (other !== row) met++
      return other === row
    })
  expect(met / hashes.length).toBeLessThan(0.1)
})

test.each<[string, (i: number) => [bigint, number]]>([
  ['consecutive ids', i => [BigInt(i + 1), 5]],
  ['consecutive ids at consecutive offsets', i => [BigInt(i + 1), i]],
  ['ids that differ in their higher half alone', i => [BigInt(i) << 40n, 5]],
  ['ids with a number of the process in front', i => [(BigInt(i % 64) << 53n) | BigInt(i >> 6), 5]],
  ['one id at consecutive offsets', i => [7n, i]],
  ['one id at offsets far apart', i => [7n, i * 4096]],
])('%s are spread over the whole table, so that each is found at once', (_, at) => {
  const many = 1 << 14
  const places = new Set<number>()
  const tags = new Uint32Array(256)
  for (let i = 0; i < many; i++) {
    const hash = hashOfId(...at(i))
    places.add(hash & (many - 1))
    tags[hash >>> 24]!++
  }
  expect(places.size / many).toBeGreaterThan(0.5)
  expect(Math.max(...tags) / many).toBeLessThan(0.05)
})
