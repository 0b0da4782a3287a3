import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Query } from '../../src/bus/port.ts'
import type { Fetch } from '../../src/bus/read/fetch.ts'
import { searchLog } from '../../src/bus/read/search.ts'
import { type BatchRecord, buildBatch } from '../support/batches.ts'
import { fetched } from '../support/fake-cluster.ts'

interface Written {
  last: number
  bytes: Buffer
}

/** Searches a log. A fetch returns at most `mostBytes` and may cut a batch off, but never the first one. */
async function search(
  log: readonly Written[],
  key: string,
  { mostBytes = Number.POSITIVE_INFINITY, ...bounds }: { mostBytes?: number } & Pick<Query, 'pieceBytes'> = {},
) {
  const end = log.at(-1)!.last + 1
  const asked: number[] = []
  const fetch: Fetch = async ({ partitions, partitionBytes }) => {
    const { tp, offset } = partitions[0]!
    asked.push(offset)
    const rest = log.filter(({ last }) => last >= offset).map(({ bytes }) => bytes)
    const whole = Buffer.concat(rest)
    const bytes = whole.subarray(0, Math.max(rest[0]?.length ?? 0, Math.min(mostBytes, partitionBytes)))
    return { partitions: [fetched(tp, { highWatermark: end, bytes })] }
  }
  const logs: Parameters<typeof searchLog>[0]['logs'] = {
    locate: async () => log[0]!.last - (log[0]!.last % 10),
    end: async () => end,
    untilAnswered: (_tp, ask) => ask(),
  }
  const pieces: number[][] = []
  const query: Query = {
    from: 'earliest',
    needles: [{ bytes: Buffer.from(key) }],
    ending: new AbortController().signal,
    take: async records => void pieces.push(records.map(({ offset }) => offset)),
    ...bounds,
  }
  const searched = await searchLog({ fetch, logs, running: () => 1 }, { topic: 'topic', partition: 0 }, query)
  return { ...searched, asked, pieces, offsets: pieces.flat() }
}

const recordsFrom = (offset: number): BatchRecord[] =>
  Array.from({ length: 10 }, (_, i) => ({ offset: offset + i, key: `id-${offset + i}`, value: 'x'.repeat(50) }))
const batchFrom = (offset: number, options: Parameters<typeof buildBatch>[1] = {}): Written => ({
  last: offset + 9,
  bytes: buildBatch(recordsFrom(offset), options),
})

describe('a search in a Kafka log', () => {
  test('continues with a batch that an answer cut off, and with one larger than an answer', async () => {
    const log = [0, 10, 20, 30].map(offset => batchFrom(offset))
    for (const mostBytes of [1, log[0]!.bytes.length + 5, 2 * log[0]!.bytes.length + 70]) {
      expect((await search(log, 'id-35', { mostBytes })).offsets).toEqual([35])
    }
  })

  test('holds no more bytes of records at once than it may, and finds all in the end', async () => {
    const log = [0, 10, 20, 30].map(offset => batchFrom(offset))
    const all = Array.from({ length: 40 }, (_, i) => i)
    expect((await search(log, 'id-')).pieces).toEqual([all])
    const { pieces, offsets } = await search(log, 'id-', { pieceBytes: log[0]!.bytes.length })
    expect(offsets).toEqual(all)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(20)
  })

  test('fetches no record twice, however few there is memory for at once', async () => {
    const packing = fc.constantFrom(...(['none', 'gzip', 'zstd'] as const))
    const log = fc
      .array(packing, { minLength: 1, maxLength: 6 })
      .map(all => all.map((one, i) => batchFrom(10 * i, { packing: one })))
    const bounds = fc.record({
      pieceBytes: fc.integer({ min: 1, max: 20_000 }),
      mostBytes: fc.constantFrom(1, 500, Infinity),
    })
    await fc.assert(
      fc.asyncProperty(log, bounds, async (log, bounds) => {
        const { asked, offsets } = await search(log, 'id-', bounds)
        expect(offsets).toEqual(Array.from({ length: 10 * log.length }, (_, i) => i))
        expect(asked.filter(offset => offset % 10 > 0)).toEqual([])
        expect(new Set(asked).size).toBe(asked.length)
      }),
    )
  })

  test('counts an unreadable batch, because it may hold a match, and continues behind it', async () => {
    const broken = batchFrom(10, { packing: 'gzip' })
    broken.bytes.fill(0xff, 70, 90)
    const found = await search([batchFrom(0), broken, batchFrom(20)], 'id-25')
    expect(found).toMatchObject({ unreadable: 1, until: 30, offsets: [25] })
  })
})
