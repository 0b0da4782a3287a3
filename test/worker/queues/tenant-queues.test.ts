import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/bus/port.ts'
import type { Pending } from '../../../src/worker/pending.ts'
import { TenantQueues } from '../../../src/worker/queues/tenant-queues.ts'
import { settled } from '../../support/clock.ts'
import { commandsFrom } from '../../support/commands.ts'
import { collectGarbage } from '../../support/garbage.ts'
import { startSendingWorld } from '../../support/sending.ts'

const all = () => true
const upTo = (operations: number) => ({ operations, bytes: 1_000_000 })
const buildPartition = () => ({ open: true }) as { open: boolean } & Session
const one = buildPartition()

/** A waiting command, with the fields that its queue reads. */
const buildPending = ({ tenant = '', bytes = 40, session = one }) =>
  ({ command: { tenant, bytes }, session, heldBytes: bytes }) as Pending

function tenantsOf(counts: Record<string, number>, weights: Record<string, number> = {}): TenantQueues {
  const tenants = new TenantQueues(new Map(Object.entries(weights)))
  for (const [tenant, count] of Object.entries(counts)) {
    for (let i = 0; i < count; i++) tenants.push(buildPending({ tenant }))
  }
  return tenants
}

const countsOf = (pendings: readonly Pending[]) =>
  Object.fromEntries(
    [...Map.groupBy(pendings, ({ command }) => command.tenant)].map(([name, own]) => [name, own.length]),
  )

test('after hundreds of tenants came and went, each of two new ones has its share', () => {
  const tenants = tenantsOf(Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`t${i}`, 1])))
  expect(tenants.take(upTo(1_000), all)).toHaveLength(300)
  for (const tenant of ['a', 'b']) for (let i = 0; i < 100; i++) tenants.push(buildPending({ tenant }))
  expect(countsOf(tenants.take(upTo(100), all))).toEqual({ a: 50, b: 50 })
})

describe('a single command of a tenant', () => {
  test.each([1, 5, 99])('is in the next envelope, although %i others have a thousand each', others => {
    const tenants = tenantsOf(Object.fromEntries(Array.from({ length: others }, (_, i) => [`t${i}`, 1_000])))
    for (let i = 0; i < 7; i++) tenants.take(upTo(100), all)
    tenants.push(buildPending({ tenant: 'late' }))
    expect(countsOf(tenants.take(upTo(100), all))).toMatchObject({ late: 1 })
  })

  test('waits for at most 256 turns, however many tenants there are', () => {
    const tenants = tenantsOf(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`t${i}`, 2])))
    tenants.push(buildPending({ tenant: 't1' }))
    const seen = Array.from({ length: 3 }, () => tenants.take(upTo(100), all)).flat()
    expect(countsOf(seen)).toMatchObject({ t1: 2 })
  })
})

describe('among tenants with backlogs', () => {
  test('each has a share by its weight, however many operations an envelope has', () => {
    const anyWeights = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 2, maxLength: 4 })
    fc.assert(
      fc.property(anyWeights, fc.integer({ min: 1, max: 40 }), (weights, operations) => {
        const names = weights.map((_, i) => `t${i}`)
        const counts = Object.fromEntries(names.map(name => [name, 1_500]))
        const tenants = tenantsOf(counts, Object.fromEntries(names.map((name, i) => [name, weights[i]!])))
        const taken: Pending[] = []
        while (taken.length < 1_500) taken.push(...tenants.take(upTo(operations), all))
        const sum = weights.reduce((total, weight) => total + weight, 0)
        const shares = names.map(name => countsOf(taken)[name]! / taken.length)
        for (const [i, share] of shares.entries()) expect(Math.abs(share - weights[i]! / sum)).toBeLessThan(0.03)
      }),
      { numRuns: 50 },
    )
  })

  test('unused shares go to others, so that the envelope is full', () => {
    expect(countsOf(tenantsOf({ a: 3, b: 1_000, c: 10 }).take(upTo(100), all))).toEqual({ a: 3, b: 87, c: 10 })
  })

  test('one with long commands fills at most every other envelope', () => {
    const tenants = new TenantQueues(new Map())
    for (let i = 0; i < 30; i++) tenants.push(buildPending({ tenant: 'long', bytes: 400 }))
    const bounds = { operations: 100, bytes: 1_000 }
    tenants.take(bounds, all)
    for (let i = 0; i < 30; i++) tenants.push(buildPending({ tenant: 'short', bytes: 50 }))
    const envelopes = [1, 2].map(() => countsOf(tenants.take(bounds, all)))
    expect(envelopes.some(({ short = 0 }) => short > 10)).toBe(true)
  })

  test('an envelope keeps its limit of bytes', () => {
    const tenants = new TenantQueues(new Map())
    for (const tenant of ['a', 'b', 'a', 'b']) tenants.push(buildPending({ tenant, bytes: 100 }))
    const taken = [1, 2, 3].map(() => tenants.take({ operations: 9, bytes: 201 }, all).length)
    expect(taken).toEqual([2, 2, 0])
  })
})

test('requeued commands of tenants without a queue are sent, although 256 other tenants wait', () => {
  const tenants = new TenantQueues(new Map())
  const session = buildPartition()
  const push = (tenant: string) => tenants.push(buildPending({ tenant, session }))
  for (const tenant of ['a', 'b', 'c']) push(tenant)
  const envelope = tenants.take(upTo(3), all)
  for (let i = 0; i < 256; i++) push(`t${i}`)
  tenants.take(upTo(1), all)
  tenants.putBack(envelope)
  expect(tenants.waiting).toBe(258)
  session.open = false
  expect(tenants.take(upTo(1_000), all)).toEqual([])
  session.open = true
  tenants.resume(session)
  expect(tenants.take(upTo(1_000), all)).toHaveLength(258)
})

test.each([
  { counts: { a: 10, b: 10, c: 10 }, kept: 2, left: { b: 1, c: 1 } },
  { counts: { a: 10, b: 10, c: 10 }, kept: 14, left: { a: 4, b: 5, c: 5 } },
  { counts: { a: 1_000, b: 1, c: 2 }, kept: 100, left: { a: 97, b: 1, c: 2 } },
])('if memory holds $kept commands of a partition, its tenants share them equally and none is unused', example => {
  const { counts, kept, left } = example
  const tenants = tenantsOf(counts)
  tenants.cut(one, { records: kept, bytes: 1_000_000 })
  expect(tenants.length).toBe(kept)
  expect(countsOf(tenants.take(upTo(1_000), all))).toEqual(left)
})

test('taken commands are not kept in memory', async () => {
  const tenants = new TenantQueues(new Map())
  const pushed = Array.from({ length: 50 }, (_, i) => {
    const pending = buildPending({ tenant: `t${i % 5}` })
    tenants.push(pending)
    return new WeakRef(pending)
  })
  tenants.take(upTo(40), all)
  await settled()
  collectGarbage()
  expect(pushed.filter(pending => pending.deref())).toHaveLength(10)
  expect(tenants.waiting).toBe(10)
})

test('every command is taken once, whether it is requeued or waits for its partition', () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('push'),
      tenant: fc.integer({ min: 0, max: 400 }),
      count: fc.integer({ min: 1, max: 300 }),
    }),
    fc.record({ kind: fc.constant('take'), tenant: fc.integer({ min: 1, max: 50 }), count: fc.constant(1) }),
    fc.record({ kind: fc.constant('back'), tenant: fc.integer({ min: 1, max: 50 }), count: fc.constant(1) }),
    fc.record({ kind: fc.constant('close'), tenant: fc.integer({ min: 1, max: 50 }), count: fc.constant(1) }),
    fc.record({ kind: fc.constant('open'), tenant: fc.constant(0), count: fc.constant(1) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const tenants = new TenantQueues(new Map([['t1', 5]]))
      const session = buildPartition()
      const waiting = new Set<Pending>()
      const take = (operations: number) => {
        const taken = tenants.take(upTo(operations), all)
        for (const pending of taken) expect(waiting.delete(pending)).toBe(true)
        return taken
      }
      for (const { kind, tenant, count } of steps) {
        if (kind === 'push') {
          for (let i = 0; i < count; i++) {
            const pending = buildPending({ tenant: `t${(tenant + (count > 200 ? i : 0)) % 400}`, session })
            waiting.add(pending)
            tenants.push(pending)
          }
        } else if (kind === 'open') {
          session.open = true
          tenants.resume(session)
        } else if (kind === 'close') {
          session.open = false
          expect(take(tenant)).toEqual([])
        } else {
          const taken = take(tenant)
          if (kind === 'take') continue
          tenants.putBack(taken)
          for (const pending of taken) waiting.add(pending)
        }
        expect(tenants.waiting).toBe(waiting.size)
      }
      session.open = true
      tenants.resume(session)
      expect(tenants.length).toBe(waiting.size)
      for (let left = waiting.size; left > 0; left = waiting.size) {
        take(37)
        expect(waiting.size).toBeLessThan(left)
      }
    }),
  )
})

describe('a worker', () => {
  test('sends a single command of one tenant soon, although another tenant has a backlog', async () => {
    const { put, pass, posts } = await startSendingWorld({
      partitions: 4,
      gateway: { maxOperations: 10, concurrency: 2 },
      takes: () => 500,
    })
    for (let partition = 0; partition < 4; partition++) {
      put('bulk', commandsFrom(1 + 2_000 * partition, 500, { tenant: 'busy' }), partition)
    }
    await pass(5_000)
    put('bulk', commandsFrom(100_001, 1, { tenant: 'quiet' }), 3)
    const before = posts.length
    await pass(10_000)
    const envelopes = posts.slice(before).map(({ ids }) => ids.includes(100_001))
    expect(envelopes.indexOf(true)).toBeGreaterThanOrEqual(0)
    expect(envelopes.indexOf(true)).toBeLessThanOrEqual(2) // one was prepared before
  })
})
