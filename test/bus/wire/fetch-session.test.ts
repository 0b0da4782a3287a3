import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FetchSession } from '../../../src/bus/wire/fetch-session.ts'
import { SessionBroker } from '../../support/session-broker.ts'

const brokerOf = (partitions: number) =>
  new SessionBroker({ ends: Array(partitions).fill(0), bytesOf: (from, end) => Buffer.from([from, end]) })
const terms = { waitMs: 0, maxBytes: 1, partitionBytes: 1, rack: '' }
const placeOf = (partition: number) => ({ topic: 't', partition })

/** Fetches these partitions and no others. */
function fetchOnly(session: FetchSession, positions: readonly (readonly [partition: number, offset: number])[]) {
  const wanted = new Set(positions.map(([partition]) => partition))
  for (const partition of [0, 1, 2, 3]) if (!wanted.has(partition)) session.leave(placeOf(partition))
  for (const [partition, offset] of positions) session.want(placeOf(partition), offset)
  return session.fetch(terms)
}

const partitionsIn = ({ partitions }: { partitions: readonly { tp?: { partition: number }; partition?: number }[] }) =>
  partitions.map(({ tp, partition }) => tp?.partition ?? partition)

test('a fetch names what changed since the last one, and is answered what is new', async () => {
  const broker = brokerOf(3)
  const session = new FetchSession(broker.ask)
  expect(
    partitionsIn(
      await fetchOnly(session, [
        [0, 0],
        [1, 0],
        [2, 0],
      ]),
    ),
  ).toEqual([0, 1, 2])
  broker.ends[1] = 5
  expect(
    partitionsIn(
      await fetchOnly(session, [
        [0, 0],
        [1, 0],
        [2, 0],
      ]),
    ),
  ).toEqual([1])
  expect(session.highWatermark({ topic: 't', partition: 1 })).toBe(5)
  await fetchOnly(session, [
    [0, 0],
    [1, 5],
    [2, 0],
  ])
  await fetchOnly(session, [
    [0, 0],
    [1, 5],
  ])
  expect(broker.requests.map(partitionsIn)).toEqual([[0, 1, 2], [], [1], []])
  expect(broker.requests.at(-1)!.session!.left).toEqual([{ topic: 't', partition: 2 }])
})

test('a broker that forgot the session is asked for all of it again, at once', async () => {
  const broker = brokerOf(2)
  const session = new FetchSession(broker.ask)
  await fetchOnly(session, [
    [0, 0],
    [1, 0],
  ])
  broker.forget()
  broker.ends[0] = 1
  expect(
    partitionsIn(
      await fetchOnly(session, [
        [0, 0],
        [1, 0],
      ]),
    ),
  ).toEqual([0, 1])
})

test('after a fetch that nobody answered all is asked for again, in place of the session before', async () => {
  const broker = brokerOf(1)
  let isAway = false
  const session = new FetchSession(async asked => {
    const answer = await broker.ask(asked)
    if (isAway) throw new Error('no answer')
    return answer
  })
  await fetchOnly(session, [[0, 0]])
  isAway = true
  await expect(fetchOnly(session, [[0, 0]])).rejects.toThrow('no answer')
  isAway = false
  await fetchOnly(session, [[0, 0]])
  expect(broker.requests.at(-1)!.session).toMatchObject({ id: 1, epoch: 0 })
  expect(broker.requests.at(-1)!.partitions).toHaveLength(1)
})

test('a broker that keeps no session is asked for all of it each time', async () => {
  const broker = brokerOf(2)
  broker.keeps = false
  const session = new FetchSession(broker.ask)
  for (let i = 0; i < 3; i++)
    await fetchOnly(session, [
      [0, 0],
      [1, 0],
    ])
  expect(broker.requests.map(({ session, partitions }) => [session!.id, session!.epoch, partitions.length])).toEqual(
    Array.from({ length: 3 }, () => [0, 0, 2]),
  )
})

const steps = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), partition: fc.nat(3), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('fetch' as const), read: fc.subarray([0, 1, 2, 3]), take: fc.boolean() }),
  fc.record({ kind: fc.constantFrom('forget' as const, 'lose' as const, 'rewind' as const), partition: fc.nat(3) }),
)

test('whatever is asked for, forgotten, lost and sought, each record that is asked for is answered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 60 }), async list => {
      const broker = brokerOf(4)
      const offsets = [0, 0, 0, 0]
      let isLost = false
      const session = new FetchSession(async asked => {
        const answer = await broker.ask(asked)
        if (isLost) throw new Error('lost')
        return answer
      })
      for (const step of list) {
        isLost = step.kind === 'lose'
        if (step.kind === 'append') broker.ends[step.partition]! += step.count
        else if (step.kind === 'forget') broker.forget()
        else if (step.kind === 'rewind') offsets[step.partition] = 0
        else {
          const read = step.kind === 'fetch' ? step.read : [0, 1, 2, 3]
          const positions = read.map(partition => [partition, offsets[partition]!] as const)
          const answer = await fetchOnly(session, positions).catch(() => null)
          if (!answer) continue
          for (const partition of read) {
            const found = answer.partitions.find(one => one.partition === partition)
            const end = broker.ends[partition]!
            expect(found ? [...found.bytes] : [end, end]).toEqual([offsets[partition], end])
            expect(session.highWatermark({ topic: 't', partition })).toBe(end)
            if (step.kind === 'fetch' && step.take) offsets[partition] = end
          }
        }
      }
    }),
    { numRuns: 300 },
  )
})
