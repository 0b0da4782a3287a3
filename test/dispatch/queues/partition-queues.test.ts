import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Session } from '../../../src/bus/port.ts'
import type { Pending } from '../../../src/dispatch/pending.ts'
import { type EnvelopeBounds, PartitionQueues } from '../../../src/dispatch/queues/partition-queues.ts'
import { buildPartition, buildPending } from '../../support/pendings.ts'

const all = () => true
const upTo = (operations: number) => ({ operations, bytes: 1_000_000 })

function take(
  queues: PartitionQueues,
  { operations, bytes }: EnvelopeBounds,
  accept: (pending: Pending) => boolean,
): Pending[] {
  const taken: Pending[] = []
  queues.fill(taken, operations, bytes + 1, accept)
  return taken
}

const ids = (pendings: readonly Pending[]) => pendings.map(({ command }) => Number(command.id))
const partitions = (count: number) => Array.from({ length: count }, (_, i) => buildPartition(i))

/** Commands that came one after the other, by their ids and partitions. */
function rotationOf(...commands: (readonly [id: number, session: Session])[]): PartitionQueues {
  const queues = new PartitionQueues()
  for (const [id, session] of commands) queues.push(buildPending({ id: BigInt(id), session }))
  return queues
}

describe('an envelope over partitions', () => {
  test('holds what waits on all of them, those first that have waited longest', () => {
    const [a, b, c] = partitions(3)
    const queues = rotationOf([1, b!], [2, a!], [3, c!], [4, b!])
    expect(ids(take(queues, upTo(10), all))).toEqual([1, 4, 2, 3])
    expect(queues.length).toBe(0)
  })

  test('ends within a partition, which goes on as the first of the next one', () => {
    const [a, b, c] = partitions(3)
    const queues = rotationOf([1, a!], [2, b!], [3, b!], [4, b!], [5, c!])
    expect(ids(take(queues, upTo(3), all))).toEqual([1, 2, 3])
    expect(ids(take(queues, upTo(3), all))).toEqual([4, 5])
  })

  test('is no longer than its bytes, whichever partitions it is of', () => {
    const [a, b] = partitions(2)
    const queues = new PartitionQueues()
    for (const session of [a!, b!, b!]) queues.push(buildPending({ session, bytes: 100 }))
    expect([1, 2, 3].map(() => take(queues, { operations: 9, bytes: 201 }, all).length)).toEqual([2, 1, 0])
  })

  test('that a partition fills is the last of it until the others had theirs: a backlog shuts nobody out', () => {
    const [busy, ...others] = partitions(9)
    const queues = rotationOf(...Array.from({ length: 1_000 }, (_, i) => [i, busy!] as const))
    for (const [i, session] of others.entries()) queues.push(buildPending({ id: BigInt(2_000 + i), session }))
    expect(ids(take(queues, upTo(10), all))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(ids(take(queues, upTo(10), all))).toEqual([2000, 2001, 2002, 2003, 2004, 2005, 2006, 2007, 10, 11])
  })
})

test('among partitions with backlogs each has its envelope in turn', () => {
  const [a, b, c] = partitions(3)
  const queues = rotationOf(...Array.from({ length: 60 }, (_, i) => [i, [a!, b!, c!][i % 3]!] as const))
  const taken = Array.from({ length: 6 }, () => take(queues, upTo(5), all)[0]!.session.partition)
  expect(taken).toEqual([0, 1, 2, 0, 1, 2])
})

describe('what comes back', () => {
  test('goes first, on its own partition and in its old order', () => {
    const [a, b] = partitions(2)
    const queues = rotationOf([1, a!], [2, b!], [3, b!])
    const envelope = take(queues, upTo(10), all)
    queues.push(buildPending({ id: 4n, session: a! }))
    queues.putBack(envelope)
    expect(ids(take(queues, upTo(10), all))).toEqual([1, 4, 2, 3])
  })
})

describe('a partition that is not open', () => {
  test('lets the others go, and is counted again when it is resumed', () => {
    const [a, b] = partitions(2)
    const queues = rotationOf([1, a!], [2, b!], [3, a!])
    a!.open = false
    expect(ids(take(queues, upTo(10), all))).toEqual([2])
    queues.push(buildPending({ id: 4n, session: a! }))
    expect([queues.length, queues.waiting, queues.nexts]).toEqual([0, 3, []])
    a!.open = true
    queues.resume(a!)
    expect(queues.length).toBe(3)
    expect(ids(take(queues, upTo(10), all))).toEqual([1, 3, 4])
  })

  test('is forgotten with all it had when it is lost', () => {
    const [a, b] = partitions(2)
    const queues = rotationOf([1, a!], [2, b!])
    queues.remove(a!)
    queues.resume(a!)
    expect([queues.length, queues.waiting]).toEqual([1, 1])
    expect(ids(take(queues, upTo(10), all))).toEqual([2])
  })
})

test('whatever comes, goes and comes back, the count is right and each partition keeps its order', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), partition: fc.nat(4) }),
    fc.record({ kind: fc.constant('take' as const), operations: fc.integer({ min: 1, max: 7 }), back: fc.boolean() }),
    fc.record({ kind: fc.constantFrom('close' as const, 'open' as const, 'cut' as const), partition: fc.nat(4) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), steps => {
      const sessions = partitions(5)
      const queues = new PartitionQueues()
      const waiting = sessions.map(() => [] as number[])
      let next = 0
      for (const one of steps) {
        if (one.kind === 'push') {
          waiting[one.partition]!.push(++next)
          queues.push(buildPending({ id: BigInt(next), session: sessions[one.partition]! }))
        } else if (one.kind === 'take') {
          const taken = take(queues, upTo(one.operations), all)
          expect(taken.every(({ session }) => session.open)).toBe(true)
          if (one.back) queues.putBack(taken)
          else
            for (const { session, command } of taken)
              expect(waiting[session.partition]!.shift()).toBe(Number(command.id))
        } else if (one.kind === 'cut') {
          const cut = queues.cut(sessions[one.partition]!, { records: 2, bytes: 1_000_000 })
          expect(ids(cut)).toEqual(waiting[one.partition]!.splice(2))
        } else {
          const session = sessions[one.partition]!
          session.open = one.kind === 'open'
          if (session.open) queues.resume(session)
        }
        expect(queues.waiting).toBe(waiting.flat().length)
      }
      for (const session of sessions) {
        session.open = true
        queues.resume(session)
      }
      expect(queues.length).toBe(waiting.flat().length)
      while (queues.length > 0) take(queues, upTo(3), all)
      expect(queues.waiting).toBe(0)
    }),
  )
})
