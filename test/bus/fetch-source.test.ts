import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noMark } from '../../src/bus/batches/record-batch.ts'
import type { Fetch } from '../../src/bus/read/fetch.ts'
import { type PlacedReading, Source } from '../../src/bus/read/fetch-source.ts'
import { buildBatch } from '../support/batches.ts'
import { SessionBroker } from '../support/session-broker.ts'

const range = (from: number, end: number) => Array.from({ length: end - from }, (_, i) => from + i)
const brokerOf = (partitions: number) =>
  new SessionBroker({
    ends: Array(partitions).fill(0),
    bytesOf: (from, end) => (end > from ? buildBatch(range(from, end)) : Buffer.alloc(0)),
  })
const limits = { waitMs: 0, bytesPerPartition: 1, roomPerPartition: 1_000_000 }

const readerOf = (partition: number): PlacedReading => ({
  reading: { tp: { topic: 't', partition }, offset: 0, life: 0, paused: false, take() {}, cut() {} },
  askedOf: null,
  life: null,
  mark: noMark(),
})

/** Fetches for one reader of each partition. */
class Reader {
  readonly #source: Source<PlacedReading>
  readonly #readers = range(0, 4).map(readerOf)

  constructor(fetch: Fetch) {
    this.#source = new Source(fetch)
  }

  /** Fetches these partitions and no others. @returns the offsets that each brought */
  async fetchOnly(positions: readonly (readonly [partition: number, offset: number])[]) {
    const wanted = new Map(positions)
    for (const reader of this.#readers) {
      const offset = wanted.get(reader.reading.tp.partition)
      if (offset === undefined) this.#source.leave(reader)
      else {
        reader.reading.offset = offset
        this.#source.want(reader)
      }
    }
    this.#source.begin()
    const fetched = await this.#source.fetch(limits)
    return new Map([...fetched].map(([{ tp }, found]) => [tp.partition, found.ok ? found.records.length : -1]))
  }

  highWatermark(partition: number): number | null {
    return this.#source.placeOf(this.#readers[partition]!)?.highWatermark ?? null
  }
}

const partitionsIn = ({ partitions }: { partitions: readonly { tp: { partition: number } }[] }) =>
  partitions.map(({ tp }) => tp.partition)

test('a fetch names what changed since the last one, and is answered what is new', async () => {
  const broker = brokerOf(3)
  const reader = new Reader(broker.ask)
  const all = range(0, 3).map(partition => [partition, 0] as const)
  expect([...(await reader.fetchOnly(all)).keys()]).toEqual([0, 1, 2])
  broker.ends[1] = 5
  expect([...(await reader.fetchOnly(all))]).toEqual([[1, 5]])
  expect(reader.highWatermark(1)).toBe(5)
  const further = [[0, 0] as const, [1, 5] as const]
  await reader.fetchOnly([...further, [2, 0]])
  await reader.fetchOnly(further)
  expect(broker.requests.map(partitionsIn)).toEqual([[0, 1, 2], [], [1], []])
  expect(broker.requests.at(-1)!.session!.left).toEqual([{ topic: 't', partition: 2 }])
})

test('a broker that forgot the session is asked for all of it again, at once', async () => {
  const broker = brokerOf(2)
  const reader = new Reader(broker.ask)
  const all = [[0, 0] as const, [1, 0] as const]
  await reader.fetchOnly(all)
  broker.forget()
  broker.ends[0] = 1
  expect([...(await reader.fetchOnly(all)).keys()]).toEqual([0, 1])
})

test('after a fetch that nobody answered all is asked for again, in place of the session before', async () => {
  const broker = brokerOf(1)
  let isAway = false
  const reader = new Reader(async asked => {
    const answer = await broker.ask(asked)
    if (isAway) throw new Error('no answer')
    return answer
  })
  await reader.fetchOnly([[0, 0]])
  isAway = true
  await expect(reader.fetchOnly([[0, 0]])).rejects.toThrow('no answer')
  isAway = false
  await reader.fetchOnly([[0, 0]])
  expect(broker.requests.at(-1)!.session).toMatchObject({ id: 1, epoch: 0 })
  expect(broker.requests.at(-1)!.partitions).toHaveLength(1)
})

test('a broker that keeps no session is asked for all of it each time', async () => {
  const broker = brokerOf(2)
  broker.keeps = false
  const reader = new Reader(broker.ask)
  for (const _ of range(0, 3))
    await reader.fetchOnly([
      [0, 0],
      [1, 0],
    ])
  expect(broker.requests.map(({ session, partitions }) => [session!.id, session!.epoch, partitions.length])).toEqual(
    range(0, 3).map(() => [0, 0, 2]),
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
      const reader = new Reader(async asked => {
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
          const answer = await reader.fetchOnly(positions).catch(() => null)
          if (!answer) continue
          for (const partition of read) {
            const end = broker.ends[partition]!
            expect(answer.get(partition) ?? 0).toBe(end - offsets[partition]!)
            expect(reader.highWatermark(partition)).toBe(end)
            if (step.kind === 'fetch' && step.take) offsets[partition] = end
          }
        }
      }
    }),
    { numRuns: 300 },
  )
})
