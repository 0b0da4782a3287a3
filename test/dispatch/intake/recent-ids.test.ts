import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RecentIds } from '../../../src/dispatch/intake/command-intake.ts'

test('a table of size 0 knows no id', () => {
  const recent = new RecentIds(0)
  expect([recent.add('a', 1n, 0), recent.add('a', 1n, 1)]).toEqual([false, false])
})

test('a table knows the same ids as a complete list', () => {
  const step = fc.record({
    account: fc.constantFrom('a', 'b'),
    id: fc.oneof(
      fc.bigInt(1n, 150n),
      fc.bigInt(2n ** 63n - 9n, 2n ** 63n - 1n),
      fc.constantFrom(2n ** 32n, 2n ** 32n + 1n),
    ),
    offset: fc.nat(50),
    past: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 600, size: 'max' }), (size, steps) => {
      const recent = new RecentIds(size)
      let [young, old] = [new Map<string, number>(), new Map<string, number>()]
      for (const { account, id, offset, past } of steps) {
        const key = `${account} ${id}`
        const standsAt = young.get(key) ?? old.get(key) ?? Number.POSITIVE_INFINITY
        const known = standsAt < offset
        if (past) recent.addPast(account, id, offset)
        else expect(recent.add(account, id, offset)).toBe(known)
        if (known) continue
        young.set(key, past ? offset : -1)
        if (young.size >= size) [young, old] = [new Map(), young]
      }
    }),
  )
})
