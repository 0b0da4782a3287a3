import fc from 'fast-check'
import { expect, test } from 'vitest'
import { protocolError } from '../../../src/bus/wire/errors.ts'
import type { FetchAnswer, FetchRequest } from '../../../src/bus/wire/fetch-api.ts'
import { FetchSession } from '../../../src/bus/wire/fetch-session.ts'

const sessionNotFound = 70
const wrongEpoch = 71

interface Cached {
  offset: number
  /** The end of the log that was told last. */
  told: number
}

/** A broker as KIP-227 describes it, whose partitions hold as many records as `ends` says. */
class SessionBroker {
  readonly ends: number[]
  readonly requests: FetchRequest[] = []
  /** Whether it keeps sessions at all. */
  keeps = true
  #id = 0
  #epoch = 0
  #cache = new Map<number, Cached>()

  constructor(partitions: number) {
    this.ends = Array.from({ length: partitions }, () => 0)
  }

  /** As a restart does, or other clients that need the room. */
  forget(): void {
    this.#id = 0
  }

  readonly ask = async (request: FetchRequest): Promise<FetchAnswer> => {
    this.requests.push(request)
    const { id, epoch, left } = request.session!
    if (epoch !== 0 && (id === 0 || id !== this.#id)) throw protocolError(sessionNotFound)
    if (epoch !== 0 && epoch !== this.#epoch) throw protocolError(wrongEpoch)
    if (epoch === 0) {
      this.#cache = new Map()
      this.#id = this.keeps ? id + 1 : 0
    }
    for (const { tp, offset } of request.partitions) {
      this.#cache.set(tp.partition, { told: -1, ...this.#cache.get(tp.partition), offset })
    }
    for (const { partition } of left) this.#cache.delete(partition)
    this.#epoch = epoch + 1
    const isNew = ([partition, { offset, told }]: [number, Cached]) =>
      epoch === 0 || this.ends[partition]! > offset || this.ends[partition] !== told
    const partitions = [...this.#cache].filter(isNew).map(([partition, cached]) => {
      cached.told = this.ends[partition]!
      const bytes = Buffer.from([cached.offset, this.ends[partition]!])
      return { topic: 't', partition, errorCode: 0, highWatermark: cached.told, ...nothingElse, bytes }
    })
    return { errorCode: 0, session: this.#id, partitions }
  }
}

const nothingElse = { abortedTransactions: [], preferredReplica: -1 }
const request = (positions: readonly (readonly [partition: number, offset: number])[]): FetchRequest => ({
  waitMs: 0,
  maxBytes: 1,
  partitionBytes: 1,
  rack: '',
  partitions: positions.map(([partition, offset]) => ({ tp: { topic: 't', partition }, offset })),
})
const partitionsIn = ({ partitions }: { partitions: readonly { tp?: { partition: number }; partition?: number }[] }) =>
  partitions.map(({ tp, partition }) => tp?.partition ?? partition)

test('a fetch names what changed since the last one, and is answered what is new', async () => {
  const broker = new SessionBroker(3)
  const session = new FetchSession(broker.ask)
  expect(
    partitionsIn(
      await session.fetch(
        request([
          [0, 0],
          [1, 0],
          [2, 0],
        ]),
      ),
    ),
  ).toEqual([0, 1, 2])
  broker.ends[1] = 5
  expect(
    partitionsIn(
      await session.fetch(
        request([
          [0, 0],
          [1, 0],
          [2, 0],
        ]),
      ),
    ),
  ).toEqual([1])
  expect(session.highWatermark({ topic: 't', partition: 1 })).toBe(5)
  await session.fetch(
    request([
      [0, 0],
      [1, 5],
      [2, 0],
    ]),
  )
  await session.fetch(
    request([
      [0, 0],
      [1, 5],
    ]),
  )
  expect(broker.requests.map(partitionsIn)).toEqual([[0, 1, 2], [], [1], []])
  expect(broker.requests.at(-1)!.session!.left).toEqual([{ topic: 't', partition: 2 }])
})

test('a broker that forgot the session is asked for all of it again, at once', async () => {
  const broker = new SessionBroker(2)
  const session = new FetchSession(broker.ask)
  await session.fetch(
    request([
      [0, 0],
      [1, 0],
    ]),
  )
  broker.forget()
  broker.ends[0] = 1
  expect(
    partitionsIn(
      await session.fetch(
        request([
          [0, 0],
          [1, 0],
        ]),
      ),
    ),
  ).toEqual([0, 1])
})

test('after a fetch that nobody answered all is asked for again, in place of the session before', async () => {
  const broker = new SessionBroker(1)
  let isAway = false
  const session = new FetchSession(async asked => {
    const answer = await broker.ask(asked)
    if (isAway) throw new Error('no answer')
    return answer
  })
  await session.fetch(request([[0, 0]]))
  isAway = true
  await expect(session.fetch(request([[0, 0]]))).rejects.toThrow('no answer')
  isAway = false
  await session.fetch(request([[0, 0]]))
  expect(broker.requests.at(-1)!.session).toMatchObject({ id: 1, epoch: 0 })
  expect(broker.requests.at(-1)!.partitions).toHaveLength(1)
})

test('a broker that keeps no session is asked for all of it each time', async () => {
  const broker = new SessionBroker(2)
  broker.keeps = false
  const session = new FetchSession(broker.ask)
  for (let i = 0; i < 3; i++)
    await session.fetch(
      request([
        [0, 0],
        [1, 0],
      ]),
    )
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
      const broker = new SessionBroker(4)
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
          const answer = await session.fetch(request(positions)).catch(() => null)
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
