import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Pending } from '../../../src/dispatch/pending.ts'
import { LaneQueue } from '../../../src/dispatch/queues/lane-queue.ts'
import { buildPartition, buildPending, type PendingOptions } from '../../support/pendings.ts'

const all = () => true
const here = buildPartition()
const wide = { operations: 100, bytes: 1_000_000 }
const ids = (pendings: readonly Pending[]) => pendings.map(({ command }) => Number(command.id))

/** Commands with the ids 1, 2, 3, … */
const commands = (count: number, options: PendingOptions = {}) =>
  Array.from({ length: count }, (_, i) => buildPending({ id: BigInt(i + 1), ...options }))

function queueOf(pendings: readonly Pending[]): LaneQueue {
  const queue = new LaneQueue()
  for (const pending of pendings) queue.push(pending)
  return queue
}

describe('an envelope', () => {
  test('holds the commands in the order they came, as many as it may', () => {
    const queue = queueOf(commands(5))
    expect(ids(queue.pack({ ...wide, operations: 3 }, all))).toEqual([1, 2, 3])
    expect(ids(queue.pack(wide, all))).toEqual([4, 5])
    expect(ids(queue.pack(wide, all))).toEqual([])
    expect(queue.length).toBe(0)
  })

  test('is as long as it may be, the commas between the operations counted', () => {
    const queue = queueOf(commands(3, { bytes: 100 }))
    expect(ids(queue.pack({ operations: 9, bytes: 200 }, all))).toEqual([1])
    expect(ids(queue.pack({ operations: 9, bytes: 201 }, all))).toEqual([2, 3])
  })

  test('holds a command that is too long for it alone, so that it is not stuck', () => {
    const queue = queueOf([buildPending({ id: 1n, bytes: 500 }), buildPending({ id: 2n })])
    expect(ids(queue.pack({ operations: 9, bytes: 200 }, all))).toEqual([1])
  })

  test('whatever the lengths are, is never longer than its bounds, and leaves nothing out', () => {
    const lengths = fc.array(fc.integer({ min: 40, max: 400 }), { maxLength: 60 })
    const bounds = fc.record({
      operations: fc.integer({ min: 1, max: 10 }),
      bytes: fc.integer({ min: 400, max: 1_500 }),
    })
    fc.assert(
      fc.property(lengths, bounds, (lengths, bounds) => {
        const queue = queueOf(lengths.map((bytes, i) => buildPending({ id: BigInt(i + 1), bytes })))
        const packed: number[] = []
        while (queue.length > 0) {
          const envelope = queue.pack(bounds, all)
          expect(envelope.length).toBeLessThanOrEqual(bounds.operations)
          expect(envelope.map(({ command }) => command.json).join().length).toBeLessThanOrEqual(bounds.bytes)
          packed.push(...ids(envelope))
        }
        expect(packed).toEqual(lengths.map((_, i) => i + 1))
      }),
    )
  })

  test('leaves out what is disposed of meanwhile, without becoming smaller by it', () => {
    const queue = queueOf(commands(6))
    const disposed: number[] = []
    const accept = (pending: Pending) => {
      const [id] = ids([pending]) as [number]
      if (id % 2 === 1) disposed.push(id)
      return id % 2 === 0
    }
    expect(ids(queue.pack({ ...wide, operations: 2 }, accept))).toEqual([2, 4])
    expect(disposed).toEqual([1, 3])
  })

  test('of call/otp holds that one operation, and takes turns with the others', () => {
    const queue = queueOf([
      buildPending({ id: 1n }),
      buildPending({ id: 2n, type: 'call/otp' }),
      buildPending({ id: 3n, type: 'call/otp' }),
      buildPending({ id: 4n, type: 'hlr' }),
    ])
    expect([1, 2, 3].map(() => ids(queue.pack(wide, all)))).toEqual([[2], [1, 4], [3]])
  })
})

describe('what was not sent', () => {
  test('is the next to go, in its old order', () => {
    const queue = queueOf(commands(6))
    const envelope = queue.pack({ ...wide, operations: 3 }, all)
    queue.putBack(envelope)
    queue.push(buildPending({ id: 7n }))
    expect(ids(queue.pack(wide, all))).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test('stays alone if it is a call/otp', () => {
    const queue = queueOf([buildPending({ id: 1n, type: 'call/otp' }), buildPending({ id: 2n })])
    queue.putBack([...queue.pack(wide, all), ...queue.pack(wide, all)])
    expect([ids(queue.pack(wide, all)), ids(queue.pack(wide, all))]).toEqual([[1], [2]])
  })

  test('keeps its order in a queue that was long', () => {
    const queue = queueOf(commands(5_000))
    for (let i = 0; i < 40; i++) queue.putBack(queue.pack(wide, all))
    const order: number[] = []
    for (let i = 0; queue.length > 0; i++) {
      const envelope = queue.pack(wide, all)
      if (i < 3) queue.putBack(envelope)
      else order.push(...ids(envelope))
    }
    expect(order).toEqual(commands(5_000).map((_, i) => i + 1))
  })
})

describe('an envelope that was refused as a whole', () => {
  test('goes in halves, each by itself, in turn with the others', () => {
    const queue = queueOf(commands(7))
    queue.putBackHalved(queue.pack({ ...wide, operations: 5 }, all))
    expect([1, 2, 3].map(() => ids(queue.pack(wide, all)))).toEqual([
      [1, 2, 3],
      [6, 7],
      [4, 5],
    ])
  })

  test('is divided down to single operations, so that one bad command blocks no other', () => {
    const queue = queueOf(commands(100))
    const [passed, refused]: [number[], number[]] = [[], []]
    let posts = 0
    while (queue.length > 0) {
      const envelope = queue.pack(wide, all)
      posts++
      if (!ids(envelope).includes(42)) passed.push(...ids(envelope))
      else if (envelope.length === 1) refused.push(...ids(envelope))
      else queue.putBackHalved(envelope)
    }
    expect(refused).toEqual([42])
    expect(passed).toHaveLength(99)
    expect(posts).toBeLessThan(20)
  })

  test('is divided further where fewer operations may go, and loses none of them', () => {
    const queue = queueOf(commands(9))
    queue.putBackHalved(queue.pack(wide, all))
    const packs = Array.from({ length: 9 }, () => ids(queue.pack({ ...wide, operations: 1 }, all)))
    expect(packs.flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  test('holds only what has not been disposed of', () => {
    const queue = queueOf(commands(4))
    queue.putBackHalved(queue.pack(wide, all))
    expect(ids(queue.pack(wide, pending => ids([pending])[0] !== 1))).toEqual([2])
  })
})

describe('an envelope is due', () => {
  test('when its first command has waited long enough', () => {
    const queue = queueOf(commands(2, { lingersSince: 1_000 }))
    expect([queue.due(1_000, 20, 100), queue.due(1_015, 20, 100), queue.due(1_030, 20, 100)]).toEqual([20, 5, 0])
  })

  test('when one that comes next of another partition has waited long enough', () => {
    const queue = queueOf([
      buildPending({ lingersSince: 1_000, session: buildPartition(0) }),
      buildPending({ lingersSince: 980, session: buildPartition(1) }),
    ])
    expect(queue.due(1_000, 20, 100)).toBe(0)
  })

  test('when one is ready again that was throttled, though fresh ones wait', () => {
    const queue = queueOf(commands(1, { lingersSince: 1_000 }))
    queue.putBackLater([buildPending({ readyAt: 1_005, lingersSince: 0 })])
    expect(queue.due(1_000, 20, 100)).toBe(5)
  })

  test('when it is full', () => {
    expect(queueOf(commands(3, { lingersSince: 1_000 })).due(1_000, 20, 3)).toBe(0)
  })

  test('at once for a call/otp, and for the halves of a refused one', () => {
    expect(queueOf([buildPending({ type: 'call/otp', lingersSince: 1_000 })]).due(1_000, 20, 100)).toBe(0)
    const queue = queueOf(commands(2, { lingersSince: 1_000 }))
    queue.putBackHalved(queue.pack(wide, all))
    expect(queue.due(1_000, 20, 100)).toBe(0)
  })

  test('never, when nothing waits', () => {
    const queue = queueOf(commands(1))
    queue.pack(wide, all)
    expect(queue.due(1_000_000, 20, 100)).toBe(Number.POSITIVE_INFINITY)
  })
})

test('the oldest command that waits is known, wherever it waits', () => {
  const queue = new LaneQueue()
  expect(queue.oldestTimestamp).toBe(null)
  queue.push(buildPending({ timestamp: 30 }))
  queue.push(buildPending({ timestamp: 40 }))
  expect(queue.oldestTimestamp).toBe(30)
  queue.push(buildPending({ timestamp: 20, type: 'call/otp' }))
  expect(queue.oldestTimestamp).toBe(20)
  queue.putBackHalved([buildPending({ timestamp: 10 }), buildPending({ timestamp: 50 })])
  expect(queue.oldestTimestamp).toBe(10)
})

test('commands of an account that may not send make room, its doubts stay: each would have to be asked for anew', () => {
  const kept = { records: 1, bytes: 1_000 }
  expect(ids(queueOf(commands(3, { session: here })).cut(here, kept))).toEqual([2, 3])
  expect(queueOf(commands(3, { session: here, doubted: true })).cut(here, kept)).toEqual([])
})
