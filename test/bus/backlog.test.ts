import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BacklogShare, SharedBacklog } from '../../src/bus/session/backlog.ts'

const total = { records: 1_000, bytes: 1 << 20 }
const buildBacklog = (perSession = total) => new SharedBacklog(total, perSession)
const sharesOf = (backlog: SharedBacklog, count: number) => Array.from({ length: count }, () => backlog.share())

const recordAt = (offset: number) => ({ offset, timestamp: 0, key: null, value: null, headers: {} })

/** Holds records until the share is used up. @returns how many */
function fill(share: BacklogShare): number {
  let offset = 0
  for (; !share.isOver; offset++) share.hold(recordAt(offset))
  return offset
}

describe('the memory of sessions', () => {
  test('is available to a busy session while the others are idle', () => {
    const [busy] = sharesOf(buildBacklog(), 100)
    expect(fill(busy!)).toBeGreaterThan(300)
  })

  test('never exceeds the limit of one session', () => {
    const [busy] = sharesOf(buildBacklog({ records: 40, bytes: 1 << 20 }), 2)
    expect(fill(busy!)).toBe(40)
  })

  test('has a guaranteed share for each session, although others filled theirs before', () => {
    const shares = sharesOf(buildBacklog(), 50)
    for (const greedy of shares.slice(0, 49)) fill(greedy)
    expect(fill(shares[49]!)).toBe(total.records / 2 / 50)
  })

  test('is shared about equally by busy sessions, even with one that starts later', () => {
    const shares = sharesOf(buildBacklog(), 100)
    const busy = shares.slice(0, 5)
    for (let offset = 0; busy.some(share => !share.isOver); offset++) {
      for (const share of busy) if (!share.isOver) share.hold(recordAt(offset))
    }
    const late = fill(shares[5]!)
    expect(late).toBeGreaterThan(5)
  })

  test('is free for other sessions once its records are released or its session ends', () => {
    const backlog = buildBacklog()
    const [first, second, third] = sharesOf(backlog, 3)
    const records = fill(first!)
    const before = fill(second!)
    for (let offset = 0; offset < before; offset++) second!.letGo(offset)
    for (let offset = 0; offset < records / 2; offset++) first!.letGo(offset)
    first!.end()
    first!.hold(recordAt(records))
    first!.end()
    expect(fill(third!)).toBe(records)
  })

  test('is counted exactly, whatever sessions hold, measure, release and leave behind', () => {
    const atMost = { records: 300, bytes: 1 << 18 }
    const half = { records: total.records / 2, bytes: total.bytes / 2 }
    const op = fc.record({
      session: fc.nat(4),
      kind: fc.constantFrom('hold', 'hold', 'go', 'end'),
      bytes: fc.nat(9_000),
    })
    fc.assert(
      fc.property(fc.array(op, { maxLength: 60 }), ops => {
        const backlog = buildBacklog(atMost)
        const shares = sharesOf(backlog, 5)
        const sizes = shares.map(() => new Map<number, number>())
        const ended = new Set<number>()
        for (const [offset, { session, kind, bytes }] of ops.entries()) {
          const [share, own] = [shares[session]!, sizes[session]!]
          const [oldest = -1] = own.keys()
          if (kind === 'hold') {
            share.hold(recordAt(offset))
            const size = share.made(recordAt(offset), bytes)
            expect(size).toBe(ended.has(session) ? 0 : 200 + bytes)
            if (size > 0) own.set(offset, size)
          } else if (kind === 'end') {
            share.end()
            ended.add(session)
            own.clear()
          } else {
            share.letGo(oldest)
            own.delete(oldest)
          }
          expect([...own.keys()].every(offset => share.has(offset))).toBe(true)
        }
        const sum = (own: Map<number, number>) => [...own.values()].reduce((sum, size) => sum + size, 0)
        const held = {
          records: sizes.reduce((all, own) => all + own.size, 0),
          bytes: sizes.reduce((all, own) => all + sum(own), 0),
        }
        const live = Math.max(1, shares.length - ended.size)
        for (const [i, share] of shares.entries()) {
          const own = { records: sizes[i]!.size, bytes: sum(sizes[i]!) }
          for (const unit of ['records', 'bytes'] as const) {
            const least = Math.min(atMost[unit], half[unit] / live)
            const most = Math.min(atMost[unit], Math.max(least, (half[unit] - held[unit] + own[unit]) * 0.75))
            expect([share.least[unit], share.most[unit]]).toEqual([least, most])
          }
          const used = Math.max(own.records / share.most.records, own.bytes / share.most.bytes)
          expect([share.isOver, share.isHalfEmpty]).toEqual([used >= 1, used <= 0.5])
        }
      }),
    )
  })

  test('is bounded in records and bytes for any number of sessions', () => {
    const take = fc.record({ session: fc.nat(19), bytes: fc.integer({ min: 1, max: 20_000 }), go: fc.boolean() })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(take, { maxLength: 400 }), (count, takes) => {
        const backlog = buildBacklog()
        const shares = sharesOf(backlog, count)
        const held = shares.map(() => [] as { offset: number; bytes: number }[])
        for (const [offset, { session, bytes, go }] of takes.entries()) {
          const [share, own] = [shares[session % count]!, held[session % count]!]
          const oldest = go ? own.shift() : undefined
          if (oldest !== undefined) share.letGo(oldest.offset)
          else if (!share.isOver) {
            share.hold(recordAt(offset))
            own.push({ offset, bytes: share.made(recordAt(offset), bytes) })
          }
        }
        const records = held.flat()
        expect(records.length).toBeLessThanOrEqual(total.records)
        // each session may exceed its bound by one record
        expect(records.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(total.bytes + count * 20_200)
      }),
    )
  })
})
