import { describe, expect, test } from 'vitest'
import { buildBatch, buildCrowdedRecord, buildOldMessage, type Packing, packings } from '../support/batches.ts'
import { logOfFiles } from '../support/fake-cluster.ts'
import { ample, answering, MiB, range, read, readAll, readBytes, readFrom, shape } from '../support/fetches.ts'
import { hostileBatches } from '../support/hostile-batches.ts'

describe('a batch that cannot be read', () => {
  const invalidStreams: [Packing, RegExp][] = [
    ['gzip', /not valid gzip/],
    ['raw snappy', /not valid Snappy|bytes that do not exist/],
    ['lz4', /not valid LZ4/],
    ['zstd', /not valid zstd/],
  ]
  const garbage = () => Buffer.from('garbage that is no stream of any codec')
  const cases: Record<string, [code: string, why: RegExp, () => Buffer]> = {
    'is packed with a future codec': [
      'CODEC_UNKNOWN',
      /unknown codec 5.*Upgrade busgate/,
      () => buildBatch([5, 6, 7], { codec: 5 }),
    ],
    'unpacks to more than is allowed': [
      'BATCH_TOO_LARGE',
      /more than 67108864 bytes.*batch\.size/,
      () => buildBatch([5, 7], { packing: 'zstd', packed: () => packings.zstd[1](Buffer.alloc(65 * MiB)) }),
    ],
    'has a wrong checksum': ['BATCH_CORRUPT', /checksum/, () => withByte(buildBatch([5, 7]), -1)],
    'holds fewer records than it says': ['BATCH_CORRUPT', /records/, () => buildBatch([5, 7], { count: 3 })],
    'holds more records than it says': ['BATCH_CORRUPT', /records/, () => buildBatch([5, 7], { count: 1 })],
    'has records out of order': ['BATCH_CORRUPT', /order/, () => buildBatch([5, 7, 6], { last: 7 })],
    'has a record behind its last offset': ['BATCH_CORRUPT', /order/, () => buildBatch([5, 9], { last: 7 })],
    'has a record before its first offset': ['BATCH_CORRUPT', /order/, () => buildBatch([4, 7], { first: 5 })],
    'has records that are cut off': [
      'BATCH_CORRUPT',
      /records/,
      () => buildBatch([5, 7], { packed: bytes => bytes.subarray(0, -3) }),
    ],
  }
  for (const [packing, why] of invalidStreams) {
    const batch = () => buildBatch([5, 7], { packing, packed: garbage })
    cases[`is no valid ${packing}`] = ['BATCH_CORRUPT', why, batch]
  }

  test.each(Object.entries(cases))(
    'because it %s becomes one record, and reading continues behind it',
    async (_, [code, why, batch]) => {
      const log = logOfFiles([{ base: 3, batches: [buildBatch([3, 4]), batch(), buildBatch([8])] }], 9)
      const records = await readAll(log, 3, 9)
      expect(records.map(({ offset, unreadable }) => [offset, unreadable?.code])).toEqual([
        [3, undefined],
        [4, undefined],
        [5, code],
        [8, undefined],
      ])
      expect(records[2]).toMatchObject({ key: null, value: null, headers: {}, unreadable: { lastOffset: 7 } })
      expect(records[2]!.unreadable!.message).toMatch(/^The batch at offsets 5 to 7 cannot be read: .+\. .+\.$/)
      expect(records[2]!.unreadable!.message).toMatch(why)
    },
  )

  test('gets the requested offset if that lies within it', async () => {
    const { records, next } = await readBytes(buildBatch(range(5, 5), { codec: 6 }), 7)
    expect(records).toMatchObject([{ offset: 7, unreadable: { lastOffset: 9 } }])
    expect(next).toBe(10)
  })

  const damages: [string, (bytes: Buffer) => void, lost: (string | number)[]][] = [
    ['its last offset is beyond the log', bytes => bytes.writeInt32BE(2_000_000_000, 23), ['5-12 lost']],
    ['its last offset is one of the batches behind it', bytes => bytes.writeInt32BE(1000, 23), ['5-12 lost']],
    ['its last offset is too low', bytes => bytes.writeInt32BE(1, 23), ['5-9 lost', 10, 11, 12]],
    ['its first offset is too high', bytes => bytes.writeBigInt64BE(5n + 64n, 0), ['5-12 lost']],
    ['its format is unknown', bytes => bytes.writeInt8(9, 16), ['5-9 lost', 10, 11, 12]],
    ['its length reaches over the batches behind it', bytes => change(bytes, 20), ['5-12 lost']],
    ['its length ends within it', bytes => change(bytes, -20), ['5-12 lost']],
    ['its checksum is wrong', bytes => bytes.writeInt32BE(1, 17), ['5-9 lost', 10, 11, 12]],
  ]
  const change = (bytes: Buffer, length: number) => bytes.writeInt32BE(bytes.readInt32BE(8) + length, 8)

  test.each(damages)(
    'because %s is skipped, and reading continues at the next batch that the broker finds',
    async (_, damage, lost) => {
      const damaged = buildBatch(range(5, 5))
      damage(damaged)
      const files = [
        { base: 4, batches: [buildBatch([4]), damaged, buildBatch(range(10, 3))] },
        { base: 13, batches: range(13, 1500).map(offset => buildBatch([offset])) },
      ]
      const log = logOfFiles(files, 1513)
      expect(shape(await readAll(log, 4, 1513))).toEqual([4, ...lost, ...range(13, 1500)])
    },
  )

  test('with a wrong last offset does not hide the records behind it, even at the end of an answer', async () => {
    for (const last of [0, 3, 1000, 2_000_000_000]) {
      const damaged = buildBatch([10, 11, 12])
      damaged.writeInt32BE(last, 23)
      const files = [
        { base: 8, batches: [buildBatch([8, 9]), damaged] },
        { base: 13, batches: [buildBatch(range(13, 4000)), buildBatch([4013])] },
      ]
      const log = logOfFiles(files, 5000)
      let fetches = 0
      const records = await readAll(log, 8, 4014, ample, () => fetches++)
      expect(shape(records)).toEqual([8, 9, '10-12 lost', ...range(13, 4001)])
      expect(fetches).toBeLessThan(40)
      for (const position of last > 2 ? [11, 12] : []) {
        expect(shape(await readAll(log, position, 13))).toEqual([`${position}-12 lost`])
      }
    }
  })

  test('becomes one record, and so does the next unreadable batch', async () => {
    const [first, second] = [buildBatch([10, 11]), buildBatch([12, 13])].map(bytes => withByte(bytes, -1))
    const log = logOfFiles([{ base: 10, batches: [first!, second!, buildBatch([14])] }], 15)
    expect(shape(await readAll(log, 10, 15))).toEqual(['10-11 lost', '12-13 lost', 14])
  })

  test('at the end of the log becomes a record that ends with the log', async () => {
    const log = logOfFiles([{ base: 10, batches: [buildBatch([10]), withByte(buildBatch(range(11, 20)), -1)] }], 31)
    expect(shape(await readAll(log, 10, 31))).toEqual([10, '11-30 lost'])
  })

  test.each([-5, 10, 5_000_000])('because it claims a length of %i bytes does not stop reading', async length => {
    const damaged = buildBatch(range(5, 5))
    damaged.writeInt32BE(length, 8)
    const behind = buildBatch([10, 11])
    const bytes = (offset: number) => (offset < 10 ? Buffer.concat([damaged, behind]) : behind)
    for (const position of [5, 7]) {
      expect(shape(await readAll({ low: 5, high: 12, bytes }, position, 12))).toEqual([`${position}-9 lost`, 10, 11])
      const alone = await read({ bytes: damaged, highWatermark: 10 }, position)
      expect(shape(alone.records)).toEqual([`${position}-9 lost`])
      expect(alone.next).toBe(10)
    }
  })

  test.each([
    ['far beyond the log', 1n << 50n],
    ['before all logs', -5n],
    ['before the batch in front of it', 3n],
  ])(
    'because it claims to begin %s gets the offset where it was found, whether its checksum is right or wrong',
    async (_, firstOffset) => {
      for (const changed of [buildBatch([7, 8]), withByte(buildBatch([7, 8]), -1)]) {
        changed.writeBigInt64BE(firstOffset, 0)
        const log = logOfFiles(
          [
            { base: 5, batches: [buildBatch([5, 6]), changed] },
            { base: 9, batches: [buildBatch([9])] },
          ],
          10,
        )
        expect(shape(await readAll(log, 5, 10))).toEqual([5, 6, '7-8 lost', 9])
      }
    },
  )

  test('because it claims to begin far beyond the log does not stop reading, even alone in an answer', async () => {
    for (const bytes of [buildBatch([5, 6]), withByte(buildBatch([5, 6]), -1)]) {
      bytes.writeBigInt64BE(1n << 50n, 0)
      const { records, next } = await read({ bytes, highWatermark: 7 }, 5)
      expect(records).toMatchObject([{ offset: 5, unreadable: { code: 'BATCH_CORRUPT', lastOffset: 6 } }])
      expect(next).toBe(7)
    }
  })

  test('because its format is older than Kafka 0.11 becomes one record for each message', async () => {
    const old = [5, 6, 7].map(offset => buildOldMessage(offset === 5 ? 0 : 1, offset, Buffer.from('value')))
    const log = logOfFiles(
      [
        { base: 4, batches: [buildBatch([4]), ...old] },
        { base: 8, batches: [buildBatch([8])] },
      ],
      9,
    )
    const records = await readAll(log, 4, 9)
    expect(shape(records)).toEqual([4, '5-5 lost', '6-6 lost', '7-7 lost', 8])
    expect(records[1]!.unreadable!.message).toContain('it has format v0 instead of v2 (Kafka 0.11 and newer)')
  })

  test('because a few bytes of it would take gigabytes of memory becomes one record', async () => {
    const bomb = buildBatch([5], { codec: 4, packed: () => packings.zstd[1](buildCrowdedRecord(2 ** 20)) })
    const { records, next } = await readBytes(bomb)
    expect(records).toMatchObject([{ offset: 5, unreadable: { code: 'BATCH_TOO_LARGE', lastOffset: 5 } }])
    expect(next).toBe(6)
  })

  test('reveals nothing of its content', async () => {
    const secret = 'the text of a message'
    const { records } = await readBytes(buildBatch([{ offset: 5, value: secret }], { count: 2 }))
    expect(JSON.stringify(records)).not.toContain('text of')
  })
})

describe('a hostile batch', () => {
  test.each(Object.entries(hostileBatches))(
    '(%s) does not block the event loop, and is skipped',
    async (_, build) => {
      const bytes = build()
      const log = answering({ bytes, highWatermark: 1_000_000 })
      const { longestMs, outcome } = await longestTurn(() => readFrom(log, 0, { ...ample, roomPerPartition: MiB }))
      expect(outcome.next).toBeGreaterThan(0)
      expect(longestMs).toBeLessThan(1000) // 0.3 s of CPU are usual; other tests may share the core
    },
    30_000,
  )

  test('with more frames than any client writes counts as damaged; one with a few frames is read', async () => {
    const [codec, pack] = packings.zstd
    const framesOf = (count: number) => (record: Buffer) =>
      Buffer.concat([pack(record), ...Array(count - 1).fill(pack(Buffer.alloc(0)))])
    const { records } = await readBytes(
      Buffer.concat([
        buildBatch([5], { codec, packed: framesOf(16) }),
        buildBatch([6], { codec, packed: framesOf(17) }),
      ]),
      5,
    )
    expect(shape(records)).toEqual([5, '6-6 lost'])
    expect(records[1]!.unreadable!.message).toContain('its zstd has more than 16 frames')
  })
})

/** Measures the most CPU time that one turn of the event loop took, in milliseconds. */
async function longestTurn<T>(work: () => Promise<T>): Promise<{ longestMs: number; outcome: T }> {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let longestMs = 0
  let last = cpuMs()
  let isDone = false
  const look = () => {
    const now = cpuMs()
    longestMs = Math.max(longestMs, now - last)
    last = now
    if (!isDone) setImmediate(look)
  }
  look()
  const outcome = await work()
  isDone = true
  look()
  return { longestMs, outcome }
}

function withByte(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at < 0 ? bytes.length + at : at]! ^= 0xff
  return changed
}
