import fc from 'fast-check'
import { expect, it } from 'vitest'
import { IdSet } from '../../src/records/id-set.ts'

const id = fc.oneof(
  fc.bigInt(1n, 2n ** 63n - 1n),
  fc.bigInt(1n, 50n),
  fc.bigInt(1n, 20n).map(n => n << 32n),
)

it('a set of ids answers as a Set of bigints does', () => {
  fc.assert(
    fc.property(fc.array(id, { maxLength: 300 }), fc.array(id, { maxLength: 50 }), (added, asked) => {
      const ids = new IdSet()
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

it('a set of 200,000 consecutive ids beyond 2^53 keeps each of them', () => {
  const ids = new IdSet()
  const first = 2n ** 62n
  for (let i = 0n; i < 200_000n; i++) ids.add(first + i)
  expect(ids.size).toBe(200_000)
  for (let i = 0n; i < 200_000n; i += 997n) expect(ids.has(first + i)).toBe(true)
  expect(ids.has(first - 1n)).toBe(false)
  expect(ids.has(first + 200_000n)).toBe(false)
})
