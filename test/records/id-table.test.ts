import fc from 'fast-check'
import { expect, it } from 'vitest'
import { IdTable } from '../../src/records/id-table.ts'

const id = fc.oneof(
  fc.bigInt(1n, 2n ** 63n - 1n),
  fc.bigInt(1n, 50n),
  fc.bigInt(1n, 20n).map(n => n << 32n),
)

it('a table of ids behaves like a Set of bigints', () => {
  fc.assert(
    fc.property(fc.array(id, { maxLength: 300 }), fc.array(id, { maxLength: 50 }), (added, asked) => {
      const ids = new IdTable()
      const model = new Set<bigint>()
      for (const one of added) {
        expect(ids.add(one)).toBe(!model.has(one))
        model.add(one)
      }
      expect(ids.size).toBe(model.size)
      for (const one of [...added, ...asked]) expect(ids.has(one)).toBe(model.has(one))
    }),
  )
})

it('a table of ids with numbers behaves like a Map', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(id, fc.nat()), { maxLength: 300 }), fc.array(id, { maxLength: 50 }), (set, asked) => {
      const table = new IdTable('with numbers')
      const model = new Map<bigint, number>()
      for (const [one, number] of set) {
        expect(table.set(one, number)).toBe(!model.has(one))
        model.set(one, number)
      }
      for (const one of [...model.keys(), ...asked]) expect(table.get(one)).toBe(model.get(one))
    }),
  )
})
