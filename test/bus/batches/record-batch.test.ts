import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { decodeBatches } from '../../../src/bus/batches/batches.ts'
import { type BatchFrame, encodeBatch } from '../../../src/bus/batches/encode-batch.ts'
import { contextOf, isIntact } from '../../../src/bus/batches/record-batch.ts'
import type { BusRecord } from '../../../src/bus/port.ts'
import { headerPairs } from '../../../src/bus/record-headers.ts'
import type { Content } from '../../../src/bus/record-size.ts'
import { crc32c } from '../../support/batches.ts'

const frame: BatchFrame = {
  producerId: 4711n,
  epoch: 3,
  sequence: 12,
  transactional: true,
  compression: 'none',
  timestamp: 1_700_000_000_000,
}

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map(array => Buffer.from(array))
const small = fc.oneof(bytes(70), fc.string({ unit: 'grapheme', maxLength: 40 }))
const headers = fc.dictionary(fc.string({ maxLength: 70 }), fc.oneof(small, fc.array(small, { maxLength: 3 })), {
  maxKeys: 4,
  noNullPrototype: true,
})
const content = fc.record(
  { key: fc.option(bytes(70)), value: fc.option(bytes(9000)), headers },
  { requiredKeys: ['key', 'value'] },
) as fc.Arbitrary<Content>

async function read(batch: Buffer, count: number) {
  const { batches } = await decodeBatches(batch, count, { from: 0, room: Number.POSITIVE_INFINITY })
  return batches.flatMap(({ records }) => records)
}

/** Headers as pairs of a name and a value in hex. Values of one name are adjacent. */
const toBytes = (record: Pick<Content, 'headers'>) =>
  headerPairs(record.headers).map(([name, value]) => [name, Buffer.from(value as string).toString('hex')])

describe('a record batch', () => {
  it('is read as it was written, with any content and compression', async () => {
    const frames = fc.record({
      producerId: fc.bigInt({ min: -1n, max: 2n ** 53n }),
      epoch: fc.integer({ min: -1, max: 32_767 }),
      sequence: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
      transactional: fc.boolean(),
      compression: fc.constantFrom('none' as const, 'gzip' as const, 'zstd' as const),
      timestamp: fc.integer({ min: 0, max: 2 ** 42 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(content, { minLength: 1, maxLength: 90 }), frames, async (records, ofBatch) => {
        const batch = encodeBatch(records, ofBatch)
        expect(isIntact(batch)).toBe(true)
        const found = await read(batch, records.length)
        expect(found.map(({ key, value }) => ({ key, value }))).toEqual(
          records.map(({ key, value }) => ({ key, value })),
        )
        expect(found.map(({ contentBytes }) => contentBytes)).toEqual(
          records.map(({ key, value }) => (key?.length ?? 0) + (value?.length ?? 0)),
        )
        expect(found.map(toBytes)).toEqual(records.map(toBytes))
        expect(found.map(({ offset }) => offset)).toEqual(records.map((_, i) => i))
        expect(new Set(found.map(({ timestamp }) => timestamp))).toEqual(new Set([ofBatch.timestamp]))
        expect(contextOf(batch)).toMatchObject({
          isControl: false,
          producerId: ofBatch.producerId,
          inTransaction: ofBatch.transactional,
        })
        expect([batch.readInt16BE(51), batch.readInt32BE(53)]).toEqual([ofBatch.epoch, ofBatch.sequence])
      }),
      { numRuns: 80 },
    )
  })

  it("has kafkajs's checksum, whatever its length and wherever it lies in memory", () => {
    const checksumAt = 17
    for (let length = 0; length < 200; length++) {
      const batch = encodeBatch([{ value: Buffer.alloc(length, length) }], frame)
      expect(batch.readUInt32BE(checksumAt)).toBe(crc32c(batch.subarray(checksumAt + 4)))
      for (const start of [0, 1, 2, 3]) {
        const moved = Buffer.concat([Buffer.alloc(start), batch]).subarray(start)
        expect(isIntact(moved)).toBe(true)
        moved[checksumAt + 4 + length]! ^= 1
        expect(isIntact(moved)).toBe(false)
      }
    }
  })

  it('replaces half an emoji in a key, a value or a header with U+FFFD', async () => {
    const half = 'a\ud83d'
    const batch = encodeBatch([{ key: half, value: half, headers: { [half]: half } }], frame)
    const [{ key, value, headers }] = (await read(batch, 1)) as [BusRecord]
    expect([String(key), String(value), toBytes({ headers })]).toEqual([
      'a\ufffd',
      'a\ufffd',
      [['a\ufffd', Buffer.from('a\ufffd').toString('hex')]],
    ])
  })

  test.for(['gzip', 'zstd'] as const)('is compressed with %s if it is larger than 1 KB', compression => {
    const large = [{ value: Buffer.alloc(2000) }]
    const few = [{ value: Buffer.alloc(900) }]
    const sizeOf = (records: Content[], codec: BatchFrame['compression']) =>
      encodeBatch(records, { ...frame, compression: codec }).length
    expect(sizeOf(large, compression)).toBeLessThan(200)
    expect(sizeOf(few, compression)).toBe(sizeOf(few, 'none'))
  })
})

/** Reads a batch in fetches with so much room each. @returns the records of each fetch */
async function* readPiecewise(batch: Buffer, count: number, rooms: () => number) {
  for (let from = 0; from < count; ) {
    const { batches, next, stuck } = await decodeBatches(batch, count, { from, room: rooms() })
    expect(stuck).toBeNull()
    from = next
    yield batches.flatMap(({ records }) => records)
  }
}

describe('a record batch that does not fit into memory at once', () => {
  const records = (count: number, bytes: number, fill: string) =>
    Array.from({ length: count }, (_, i) => ({
      key: Buffer.from(`${i}`),
      value: Buffer.alloc(bytes, fill),
      headers: {},
    }))

  it('is read piece by piece, each record once, whatever else is read meanwhile and at whatever offset of it', async () => {
    const compression = fc.constantFrom('none' as const, 'gzip' as const, 'zstd' as const)
    const reading = fc.record({
      records: fc.array(content, { minLength: 1, maxLength: 20 }),
      compression,
      rooms: fc.infiniteStream(fc.integer({ min: 1, max: 5_000 })),
    })
    const turns = fc.infiniteStream(fc.nat(7))
    await fc.assert(
      fc.asyncProperty(fc.array(reading, { minLength: 1, maxLength: 4 }), turns, async (readings, turns) => {
        // each batch has two readers
        const all = [...readings, ...readings].map(({ records, compression, rooms }) => {
          const batch = encodeBatch(records, { ...frame, compression })
          const pieces = readPiecewise(batch, records.length, () => rooms.next().value)
          return { records, pieces, found: [] as BusRecord[], isDone: false }
        })
        for (const turn of turns) {
          const open = all.filter(one => !one.isDone)
          if (open.length === 0) break
          const one = open[turn % open.length]!
          const { value, done = false } = await one.pieces.next()
          one.found.push(...(value ?? []))
          one.isDone = done
        }
        for (const { records, found } of all) {
          expect(found.map(({ offset }) => offset)).toEqual(records.map((_, i) => i))
          expect(found.map(({ key, value }) => ({ key, value }))).toEqual(
            records.map(({ key, value }) => ({ key, value })),
          )
        }
      }),
      { numRuns: 50 },
    )
  })

  it.each([
    ['large records', records(60, 500_000, 'A'), 1],
    ['tiny records', records(200_000, 1, 'A'), 1 << 20],
  ])('of %s is not decompressed anew for each piece', async (_, all, room) => {
    const batch = encodeBatch(all, { ...frame, compression: 'zstd' })
    const cost = async (rooms: number) => {
      const before = process.threadCpuUsage()
      let found = 0
      for await (const piece of readPiecewise(batch, all.length, () => rooms)) found += piece.length
      expect(found).toBe(all.length)
      const { user, system } = process.threadCpuUsage(before)
      return user + system
    }
    await cost(Number.POSITIVE_INFINITY)
    const atOnce = await cost(Number.POSITIVE_INFINITY)
    expect(await cost(room)).toBeLessThan(8 * atOnce)
  })
})
