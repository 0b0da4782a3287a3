import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RecentIds, repeatWindow, UnreadIds } from '../../../src/worker/intake/recent-ids.ts'

test('a table knows the same ids as a complete list', () => {
  const step = fc.record({
    account: fc.constantFrom('a', 'b'),
    id: fc.oneof(
      fc.bigInt(1n, 150n),
      fc.bigInt(2n ** 63n - 9n, 2n ** 63n - 1n),
      fc.constantFrom(2n ** 32n, 2n ** 32n + 1n),
    ),
    offset: fc.nat(50),
    action: fc.constantFrom('add', 'past', 'take', 'free', 'used'),
  })
  type Known = { offset: number; inUse: boolean; hasUsedId?: boolean; isRepeated?: boolean }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.array(step, { maxLength: 600 }), (size, steps) => {
      const recent = new RecentIds(size)
      let [young, old] = [new Map<string, Known | null>(), new Map<string, Known | null>()]
      for (const { account, id, offset, action } of steps) {
        const key = `${account} ${id}`
        const known = (young.has(key) ? young.get(key) : old.get(key)) ?? null
        const isOwn = known?.inUse === true && known.offset === offset
        let next: Known | null | undefined
        if (action === 'add') {
          const earlier = known === null || isOwn || (!known.inUse && known.offset === offset) ? null : known
          expect(recent.add(account, id, offset)).toEqual(
            earlier &&
              (earlier.inUse
                ? 'in use'
                : { offset: earlier.offset, hasUsedId: earlier.hasUsedId === true, isOnly: !earlier.isRepeated }),
          )
          if (earlier === null) next = { offset, inUse: true }
        } else if (action === 'past') {
          recent.addPast(account, id, offset)
          if (known === null || isOwn) next = { offset, inUse: false }
          else if (!known.inUse && known.offset !== offset)
            next = { offset: Math.max(known.offset, offset), inUse: false, isRepeated: true }
        } else if (action === 'used') {
          recent.noteUse(account, id, offset)
          if (known !== null && !known.inUse && known.offset === offset && !known.hasUsedId)
            next = { ...known, hasUsedId: true }
        } else if (action === 'take') {
          recent.take(account, id, offset)
          next = { offset, inUse: true }
        } else {
          recent.free(account, id, offset)
          if (isOwn) next = null
        }
        if (next === undefined) continue
        young.set(key, next)
        if (young.size >= size) [young, old] = [new Map(), young]
      }
    }),
  )
})

test('made-up accounts take no more memory than one account', () => {
  const many = 20_000
  const before = process.memoryUsage().arrayBuffers
  const recent = new RecentIds(many)
  for (let i = 0; i < many; i++) recent.add(`account-${i}`, BigInt(i + 1), i)
  expect((process.memoryUsage().arrayBuffers - before) / many).toBeLessThan(200)
  expect(recent.add('account-7', 8n, many)).toBe('in use')
})

test('of records that cannot be read, the last 10,000 ids are known, and of each whether it is in use, however many have it', () => {
  const ids = new UnreadIds()
  const keyed = (id: number, offset: number) => ({ key: Buffer.from(String(id)), offset })
  for (let offset = 0; offset < repeatWindow; offset++) ids.add(keyed(offset + 1, offset), false)
  ids.add(keyed(1, repeatWindow), true)
  for (let i = 1; i <= 100; i++) ids.add(keyed(1, repeatWindow + i), false)
  expect(ids.add({ key: Buffer.from('order-7'), offset: 1 }, true)).toBe(false)
  const last = { offset: repeatWindow + 100, hasUsedId: false, isOnly: false }
  expect([ids.isInUse(1n), ids.lastWith(1n, null)]).toEqual([true, last])
  expect(ids.lastWith(2n, null)).toEqual({ offset: 1, hasUsedId: false, isOnly: true })
  ids.add(keyed(repeatWindow + 1, 99_999), false)
  expect([ids.lastWith(2n, null), ids.lastWith(3n, null)]).toEqual([
    null,
    { offset: 2, hasUsedId: false, isOnly: true },
  ])
})
