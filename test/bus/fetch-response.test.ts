import { fetchV12, Reader } from '@platformatic/kafka'
import { describe, expect, test } from 'vitest'
import { noMark } from '../../src/bus/batches/record-batch.ts'
import type { BusRecord } from '../../src/bus/port.ts'
import { type Fetch, fetchCommitted } from '../../src/bus/read/fetch.ts'
import { readFetch } from '../../src/bus/read/fetch-api.ts'
import {
  type AnsweredPartition,
  buildBatch,
  buildCrowdedRecord,
  buildFetchAnswer,
  buildOldMessage,
  packingNames,
  packings,
} from '../support/batches.ts'
import { hostileBatches } from '../support/hostile-batches.ts'
import { LogBroker } from '../support/log-broker.ts'

const MiB = 1024 * 1024

const ample = { waitMs: 0, bytesPerPartition: 4096, roomPerPartition: 16 * MiB }

/** A broker that answers every fetch with this. */
const brokerOf =
  (payload: Buffer): Fetch =>
  async () =>
    readFetch(payload)

/** Reads one partition's answer, from an offset on. */
async function read(answered: Omit<AnsweredPartition, 'partition'>, offset = 0) {
  return readFrom(brokerOf(buildFetchAnswer([{ partition: 0, ...answered }])), offset)
}

async function readFrom(broker: Fetch, offset = 0, limits = ample) {
  const [fetched] = await readPartitions(broker, [0], offset, limits)
  if (!fetched?.ok) throw new Error('nothing was read', { cause: fetched?.error })
  return fetched
}

/** What was fetched of each partition; undefined: nothing yet. */
async function readPartitions(broker: Fetch, partitions: number[], offset = 0, limits = ample) {
  const positions = partitions.map(partition => ({ tp: { topic: 'topic', partition }, offset }))
  const fetched = await fetchCommitted(broker, positions, limits)
  return positions.map(position => fetched.get(position))
}

/** All that is read of a log until its end, in as many fetches as it takes. */
async function readAll(log: LogBroker, offset: number, end: number, limits = ample) {
  const records: BusRecord[] = []
  for (let next = offset; next < end; ) {
    const fetched = await readFrom(log.fetch, next, limits)
    if (fetched.next <= next) throw new Error(`no way past offset ${next}`)
    records.push(...fetched.records)
    next = fetched.next
  }
  return records
}

/** Offsets of records, and the ranges that cannot be read. */
const shape = (records: readonly BusRecord[]) =>
  records.map(({ offset, unreadable }) => (unreadable ? `${offset}-${unreadable.lastOffset} lost` : offset))

const readBytes = (bytes: Buffer, offset?: number) => read({ bytes }, offset)

const offsetsOf = (records: readonly BusRecord[]) => records.map(({ offset }) => offset)
const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

describe("the broker's answer to a fetch", () => {
  test('says which partition is refused, and hands over the records of the others', async () => {
    const bytes = Buffer.concat([buildBatch([40, 41]), buildBatch([42])])
    const refused = { partition: 4, errorCode: 6, bytes: Buffer.alloc(0) }
    const payload = buildFetchAnswer([{ partition: 3, bytes }, refused], 12)
    expect(await readPartitions(brokerOf(payload), [3, 4])).toMatchObject([
      { ok: true, records: [{ offset: 40 }, { offset: 41 }, { offset: 42 }], next: 43 },
      { ok: false, error: { type: 'NOT_LEADER_OR_FOLLOWER' } },
    ])
  })

  test('says where the log ends', async () => {
    expect(await read({ bytes: Buffer.alloc(0), highWatermark: 12 }, 7)).toEqual({
      ok: true,
      records: [],
      next: 7,
      highWatermark: 12,
      stableOffset: 12,
      preferredReplica: -1,
    })
  })

  test('is read as the library reads it', async () => {
    const bytes = buildBatch([40, 41])
    const answered = { partition: 3, aborted: [{ producerId: 7, firstOffset: 40 }], preferredReplica: 2, bytes }
    const payload = buildFetchAnswer([answered])
    const reference = fetchV12.parseResponse(1, 1, 12, Reader.from(payload))
    const [found] = readFetch(payload)
    expect(reference.responses[0]).toMatchObject({
      topicId: 'topic', // so it calls names, too
      partitions: [
        {
          partitionIndex: found!.partition,
          highWatermark: BigInt(found!.highWatermark),
          preferredReadReplica: found!.preferredReplica,
          abortedTransactions: [{ producerId: 7n, firstOffset: 40n }],
        },
      ],
    })
    expect(found).toMatchObject({ topic: 'topic', abortedTransactions: [{ producerId: 7n, firstOffset: 40 }] })
    expect(found!.bytes).toEqual(bytes)
  })

  test('says where to go on when compaction has taken the end of a batch', async () => {
    const { records, next } = await readBytes(buildBatch([10, 12], { last: 19 }))
    expect([offsetsOf(records), next]).toEqual([[10, 12], 20])
  })

  test('says where to go on when compaction has emptied a batch', async () => {
    expect(await readBytes(buildBatch([], { first: 10, last: 19 }))).toMatchObject({ records: [], next: 20 })
  })

  test('ends before a batch that the broker has cut off', async () => {
    const second = buildBatch([20], { last: 29 })
    for (const cut of [0, 5, 12, 16, 17, 30, second.length - 1]) {
      const bytes = Buffer.concat([buildBatch([10], { last: 19 }), second.subarray(0, cut)])
      expect(await readBytes(bytes)).toMatchObject({ records: [{ offset: 10 }], next: 20 })
    }
  })

  test('without the end of its first batch, because other partitions came first, is asked for again', async () => {
    const whole = buildFetchAnswer([{ partition: 0, bytes: buildBatch(range(20, 5)) }])
    const cut = buildFetchAnswer([{ partition: 0, bytes: buildBatch(range(20, 5)).subarray(0, -1) }])
    const answers = [cut, whole]
    const broker: Fetch = async () => readFetch(answers.shift()!)
    expect(await readFrom(broker, 20)).toMatchObject({ records: { length: 5 }, next: 25 })
  })

  test('begins with the offset that was asked for, though its batch begins earlier', async () => {
    expect(offsetsOf((await readBytes(buildBatch(range(10, 5)), 12)).records)).toEqual([12, 13, 14])
  })
})

describe('records', () => {
  test.each(packingNames)('of a batch packed by %s are read', async packing => {
    const records = range(40, 500).map(offset => ({ offset, value: `value ${offset} `.repeat(20) }))
    const fetched = await readBytes(buildBatch(records, { packing }))
    expect(fetched.records).toHaveLength(500)
    const { offset, timestamp, key, value, headers, unreadable } = fetched.records[7]!
    expect({ offset, timestamp, key, value, headers, unreadable }).toEqual({
      offset: 47,
      timestamp: 1007,
      key: Buffer.from('key 47'),
      value: Buffer.from('value 47 '.repeat(20)),
      headers: {},
    })
    expect(fetched.next).toBe(540)
  })

  test('have their keys, values and headers, missing and empty ones too', async () => {
    const headers = { trace: 'abc', twice: ['one', 'two'], empty: '' }
    const fetched = await readBytes(
      buildBatch([
        { offset: 1, key: null, value: null },
        { offset: 2, key: '', value: '' },
        { offset: 3, headers },
      ]),
    )
    const [first, second, third] = fetched.records
    expect([first!.key, first!.value, second!.key, second!.value]).toEqual([
      null,
      null,
      Buffer.alloc(0),
      Buffer.alloc(0),
    ])
    expect(fetched.records.map(({ contentBytes }) => contentBytes)).toEqual([0, 0, 'key 3value 3'.length])
    expect(third!.headers).toEqual({
      trace: Buffer.from('abc'),
      twice: [Buffer.from('one'), Buffer.from('two')],
      empty: Buffer.alloc(0),
    })
  })

  test('have headers of any name', async () => {
    const headers = Object.fromEntries([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
    const [record] = (await readBytes(buildBatch([{ offset: 1, headers }]))).records
    expect(Object.entries(record!.headers).map(([name, value]) => [name, String(value)])).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ])
  })

  test("have their producer's time, or the broker's where the topic says so", async () => {
    const firstTimestamp = 1_763_000_000_000
    const timesOf = async (options: object) =>
      (await readBytes(buildBatch([5, 6], { firstTimestamp, ...options }))).records.map(({ timestamp }) => timestamp)
    expect(await timesOf({})).toEqual([firstTimestamp, firstTimestamp + 1])
    expect(await timesOf({ appendedAt: firstTimestamp + 99 })).toEqual([firstTimestamp + 99, firstTimestamp + 99])
  })

  test.each([
    ['of nanoseconds', 1_780_000_000_000_000_000n, -1],
    ['of microseconds', 1_780_000_000_000_000n, -1],
    ['of 2^53', 2n ** 53n, -1],
    ['that is the largest there is', 2n ** 63n - 1n, -1],
    ['before 1970', -5n, -1],
    ['that none has set', -1n, -1],
    ['of 1970', 0n, 0],
    ['of the year 9999', 253_402_300_799_999n, 253_402_300_799_999],
  ])('with a timestamp %s are read, and only what can be milliseconds counts as one', async (_, written, read) => {
    const { records } = await readBytes(
      Buffer.concat([buildBatch([5], { firstTimestamp: written }), buildBatch([6], { appendedAt: written })]),
    )
    expect(records.map(({ timestamp }) => timestamp)).toEqual([read, read])
  })

  test('may have headers of any name and number', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']
    const headers = JSON.parse(`{${names.map(name => `"${name}":["1","2"]`)}}`)
    const crowded = buildBatch([6], { packed: () => buildCrowdedRecord(10_000) })
    const { records } = await readBytes(Buffer.concat([buildBatch([{ offset: 5, headers }]), crowded]))
    const [odd, full] = records.map(record => record.headers)
    expect(Object.entries(odd!).map(([name, values]) => [name, String(values)])).toEqual(
      names.map(name => [name, '1,2']),
    )
    expect(full!.a).toHaveLength(10_000)
    expect(full!.constructor).toBeUndefined()
  })

  test('that wait for long hold on to a few KB around them, and not to their batch', async () => {
    const records = range(0, 300).map(offset => ({ offset, value: 'x'.repeat(1000) }))
    for (const packing of packingNames) {
      const { records: read } = await readBytes(buildBatch(records, { packing }))
      for (const { key, value } of read) {
        expect(value!.buffer.byteLength).toBeLessThan(100_000)
        expect(key!.buffer).toBe(value!.buffer)
      }
    }
  })
})

describe('transactions', () => {
  const marker = (offset: number, producerId: number, commit: boolean) =>
    buildBatch([{ offset, key: `\0\0\0${commit ? '\u0001' : '\0'}`, value: '\0\0\0\0\0\0' }], {
      producerId,
      transactional: true,
      control: true,
    })
  const batch = (offset: number, producerId: number, packing: 'none' | 'zstd' = 'none') =>
    buildBatch([offset], { producerId, transactional: true, packing })

  test('that were aborted and the markers of all are left out, packed or not', async () => {
    const bytes = Buffer.concat([
      batch(1, 7, 'zstd'),
      batch(2, 8, 'zstd'),
      batch(3, 7),
      marker(4, 7, false),
      batch(5, 8),
      marker(6, 8, true),
      batch(7, 7, 'zstd'),
      marker(8, 7, true),
    ])
    const { records, next } = await read({ bytes, aborted: [{ producerId: 7, firstOffset: 1 }] })
    expect([offsetsOf(records), next]).toEqual([[2, 5, 7], 9])
  })

  test('that were aborted are left out though their batch cannot be read', async () => {
    const broken = buildBatch([1, 2], {
      producerId: 7,
      transactional: true,
      packing: 'zstd',
      packed: Buffer.alloc.bind(null, 20) as never,
    })
    expect(await read({ bytes: broken, aborted: [{ producerId: 7, firstOffset: 1 }] })).toMatchObject({
      records: [],
      next: 3,
    })
  })
})

describe('a batch that cannot be read', () => {
  const garbage = () => Buffer.from('garbage that is no stream of any codec')
  const cases: Record<string, [code: string, why: RegExp, () => Buffer]> = {
    'is packed by a future codec': [
      'CODEC_UNKNOWN',
      /unknown codec 5.*Upgrade busgate/,
      () => buildBatch([5, 6, 7], { codec: 5 }),
    ],
    'is packed by no codec of its name (gzip)': [
      'BATCH_CORRUPT',
      /no gzip/,
      () => buildBatch([5, 7], { packing: 'gzip', packed: garbage }),
    ],
    'is packed by no codec of its name (snappy)': [
      'BATCH_CORRUPT',
      /no Snappy|bytes that are not there/,
      () => buildBatch([5, 7], { packing: 'raw snappy', packed: garbage }),
    ],
    'is packed by no codec of its name (lz4)': [
      'BATCH_CORRUPT',
      /no LZ4/,
      () => buildBatch([5, 7], { packing: 'lz4', packed: garbage }),
    ],
    'is packed by no codec of its name (zstd)': [
      'BATCH_CORRUPT',
      /no zstd/,
      () => buildBatch([5, 7], { packing: 'zstd', packed: garbage }),
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

  test.each(Object.entries(cases))(
    'because it %s becomes one record, and reading goes on behind it',
    async (_, [code, why, batch]) => {
      const answer = { bytes: Buffer.concat([buildBatch([3, 4]), batch(), buildBatch([8])]), highWatermark: 9 }
      const first = await read(answer)
      expect(first.records.map(({ offset, unreadable }) => [offset, unreadable?.code])).toEqual([
        [3, undefined],
        [4, undefined],
        [5, code],
      ])
      expect(first.records.at(-1)).toMatchObject({ key: null, value: null, headers: {}, unreadable: { lastOffset: 7 } })
      expect(first.records.at(-1)!.unreadable!.message).toMatch(
        /^The batch at offsets 5 to 7 cannot be read: .+\. .+\.$/,
      )
      expect(first.records.at(-1)!.unreadable!.message).toMatch(why)
      expect(first.next).toBe(8)
      expect(offsetsOf((await readBytes(buildBatch([8]), first.next)).records)).toEqual([8])
    },
  )

  test('stands at the offset that was asked for, when that lies within it', async () => {
    const { records, next } = await readBytes(buildBatch(range(5, 5), { codec: 6 }), 7)
    expect(records).toMatchObject([{ offset: 7, unreadable: { lastOffset: 9 } }])
    expect(next).toBe(10)
  })

  const damages: [string, (bytes: Buffer) => void][] = [
    ['its last offset is beyond the log', bytes => bytes.writeInt32BE(2_000_000_000, 23)],
    ['its last offset is one of the batches behind it', bytes => bytes.writeInt32BE(1000, 23)],
    ['its last offset is too low', bytes => bytes.writeInt32BE(1, 23)],
    ['its first offset is too high', bytes => bytes.writeBigInt64BE(5n + 64n, 0)],
    ['its format is unknown', bytes => bytes.writeInt8(9, 16)],
    ['its length reaches over the batches behind it', bytes => bytes.writeInt32BE(bytes.readInt32BE(8) + 200, 8)],
    ['its length ends within it', bytes => bytes.writeInt32BE(bytes.readInt32BE(8) - 20, 8)],
    ['its checksum is wrong', bytes => bytes.writeInt32BE(1, 17)],
  ]

  test.each(damages)('because %s loses nothing that stands behind it', async (_, change) => {
    const damaged = buildBatch(range(5, 5))
    change(damaged)
    const batches = [damaged, buildBatch(range(10, 3)), ...range(13, 1500).map(offset => buildBatch([offset]))]
    const answer = { bytes: Buffer.concat(batches), highWatermark: 1513 }
    for (const [position, expected] of [
      [5, ['5-9 lost']],
      [7, ['7-9 lost']],
      [10, range(10, 1503)],
      [12, range(12, 1501)],
    ] as const) {
      expect(shape((await read(answer, position)).records)).toEqual(expected)
    }
  })

  test('loses nothing behind it though it says otherwise, where an answer ends with it', async () => {
    for (const last of [0, 3, 1000, 2_000_000_000]) {
      const damaged = buildBatch([10, 11, 12])
      damaged.writeInt32BE(last, 23)
      const files = [
        { base: 8, batches: [buildBatch([8, 9]), damaged] },
        { base: 13, batches: [buildBatch(range(13, 4000)), buildBatch([4013])] },
      ]
      const log = new LogBroker(files, 5000)
      expect(shape(await readAll(log, 8, 4014))).toEqual([8, 9, '10-12 lost', ...range(13, 4001)])
      expect(log.asked.length).toBeLessThan(40)
      for (const position of last > 2 ? [11, 12] : []) {
        expect(shape(await readAll(log, position, 13))).toEqual([`${position}-12 lost`])
      }
    }
  })

  test('loses nothing behind it where limits cut the answer off behind it', async () => {
    const damaged = buildBatch([10, 11, 12])
    damaged.writeInt32BE(1000, 23)
    const large = buildBatch([{ offset: 13, value: Buffer.alloc(3 * MiB) }])
    const log = new LogBroker([{ base: 10, batches: [damaged, large, buildBatch([14, 15])] }], 16)
    const limits = { ...ample, bytesPerPartition: 100 }
    expect(shape(await readAll(log, 10, 16, limits))).toEqual(['10-12 lost', 13, 14, 15])
  })

  test('is one record with the one behind it that cannot be read either', async () => {
    const [first, second] = [buildBatch([10, 11]), buildBatch([12, 13])].map(bytes => withByte(bytes, -1))
    const log = new LogBroker([{ base: 10, batches: [first!, second!, buildBatch([14])] }], 15)
    expect(shape(await readAll(log, 10, 15))).toEqual(['10-13 lost', 14])
  })

  test('ends with the log where nothing stands behind it', async () => {
    const log = new LogBroker([{ base: 10, batches: [buildBatch([10]), withByte(buildBatch(range(11, 20)), -1)] }], 31)
    expect(shape(await readAll(log, 10, 31))).toEqual([10, '11-30 lost'])
  })

  test.each([-5, 10, 5_000_000])('because it says to be %i bytes long holds nobody up', async length => {
    const damaged = buildBatch(range(5, 5))
    damaged.writeInt32BE(length, 8)
    const alone = { bytes: damaged, highWatermark: 10 }
    const between = { bytes: Buffer.concat([damaged, buildBatch([10, 11])]), highWatermark: 12 }
    for (const answer of [alone, between]) {
      for (const position of [5, 7]) {
        const { records, next } = await read(answer, position)
        expect(shape(records)).toEqual([`${position}-9 lost`])
        expect(next).toBe(10)
      }
    }
    expect(shape((await read(between, 10)).records)).toEqual([10, 11])
  })

  test.each([
    ['far beyond the log', 1n << 50n],
    ['before all logs', -5n],
    ['before the batch in front of it', 3n],
  ])('because it says to begin %s stands where it is found, its checksum right or wrong', async (_, firstOffset) => {
    for (const changed of [buildBatch([7, 8]), withByte(buildBatch([7, 8]), -1)]) {
      changed.writeBigInt64BE(firstOffset, 0)
      const last = { lastOffset: 8, code: 'BATCH_CORRUPT' }
      const between = { bytes: Buffer.concat([buildBatch([5, 6]), changed, buildBatch([9])]), highWatermark: 10 }
      const found = await read(between, 5)
      expect(found.records).toMatchObject([{ offset: 5 }, { offset: 6 }, { offset: 7, unreadable: last }])
      expect(found.next).toBe(9)
    }
  })

  test('because it says to begin far beyond the log holds nobody up, even where nothing stands around it', async () => {
    for (const bytes of [buildBatch([5, 6]), withByte(buildBatch([5, 6]), -1)]) {
      bytes.writeBigInt64BE(1n << 50n, 0)
      const { records, next } = await read({ bytes, highWatermark: 7 }, 5)
      expect(records).toMatchObject([{ offset: 5, unreadable: { code: 'BATCH_CORRUPT', lastOffset: 6 } }])
      expect(next).toBe(7)
    }
  })

  test('is of a format before Kafka 0.11: they become one record, up to the next batch', async () => {
    const old = [5, 6, 7].map(offset => buildOldMessage(offset === 5 ? 0 : 1, offset, Buffer.from('value')))
    const { records, next } = await readBytes(Buffer.concat([buildBatch([4]), ...old, buildBatch([8])]), 4)
    expect(shape(records)).toEqual([4, '5-7 lost'])
    expect(records[1]!.unreadable!.message).toContain('it has format v0 instead of v2 (Kafka 0.11 and newer)')
    expect(next).toBe(8)
    const log = new LogBroker([{ base: 5, batches: old }], 8)
    expect(shape(await readAll(log, 5, 8))).toEqual(['5-5 lost', '6-6 lost', '7-7 lost'])
  })

  test('is one that would take gigabytes in memory, however few its bytes', async () => {
    const bomb = buildBatch([5], { codec: 4, packed: () => packings.zstd[1](buildCrowdedRecord(2 ** 20)) })
    const { records, next } = await readBytes(bomb)
    expect(records).toMatchObject([{ offset: 5, unreadable: { code: 'BATCH_TOO_LARGE', lastOffset: 5 } }])
    expect(next).toBe(6)
  })

  test('is told apart from its neighbours on other partitions', async () => {
    const payload = buildFetchAnswer([
      { partition: 0, bytes: buildBatch([10], { codec: 7 }) },
      { partition: 1, bytes: buildBatch([10]) },
    ])
    const [bad, good] = await readPartitions(brokerOf(payload), [0, 1])
    expect(bad).toMatchObject({ records: [{ unreadable: {} }], next: 11 })
    expect(good).toMatchObject({ records: [{ offset: 10 }], next: 11 })
    expect(shape((good as { records: BusRecord[] }).records)).toEqual([10])
  })

  test('holds nothing of its content in what is told of it', async () => {
    const secret = 'the text of a message'
    const { records } = await readBytes(buildBatch([{ offset: 5, value: secret }], { count: 2 }))
    expect(JSON.stringify(records)).not.toContain('text of')
  })
})

describe('a batch that is made to cost much', () => {
  test.each(Object.entries(hostileBatches))(
    '(%s) holds nothing up for long, and is gone past',
    async (_, build) => {
      const bytes = build()
      const log = brokerOf(buildFetchAnswer([{ partition: 0, highWatermark: 1_000_000, bytes }]))
      const { longestMs, outcome } = await longestStretch(() => readFrom(log, 0, { ...ample, roomPerPartition: MiB }))
      expect(outcome.next).toBeGreaterThan(0)
      expect(longestMs).toBeLessThan(100)
    },
    30_000,
  )

  test('of more frames than any client writes is damaged, and one of some frames is not', async () => {
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

/** Tells the most CPU time that the event loop was kept from going on, in milliseconds. */
async function longestStretch<T>(work: () => Promise<T>): Promise<{ longestMs: number; outcome: T }> {
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

describe('of batches that unpack to more than fits into memory', () => {
  test('a few are read at a time, and the rest by the next fetches', async () => {
    const large = (offset: number) => buildBatch([{ offset, value: Buffer.alloc(40 * MiB) }], { packing: 'zstd' })
    const bytes = Buffer.concat(range(5, 2).map(large))
    const answer = buildFetchAnswer(range(0, 3).map(partition => ({ partition, bytes })))
    const fetched = await readPartitions(brokerOf(answer), [0, 1, 2])
    expect(fetched).toMatchObject([{ records: { length: 1 }, next: 6 }, { records: { length: 1 }, next: 6 }, undefined])
  }, 20_000)

  test('the small records of one are read a few thousand at a time', async () => {
    const count = 50_000
    const records = range(0, count).map(offset => ({ offset, key: null, value: null }))
    const bytes = Buffer.concat([buildBatch(records, { packing: 'zstd' }), buildBatch([count])])
    const log = brokerOf(buildFetchAnswer([{ partition: 0, highWatermark: count + 1, bytes }]))
    const offsets: number[] = []
    const limits = { ...ample, roomPerPartition: 4 * MiB }
    const position = { tp: { topic: 'topic', partition: 0 }, offset: 0, mark: noMark() }
    for (let next = 0; next <= count; ) {
      position.offset = next
      const fetched = (await fetchCommitted(log, [position], limits)).get(position)
      if (!fetched?.ok) throw new Error('nothing was read')
      expect(fetched.records.length).toBeLessThanOrEqual(8192)
      expect(fetched.next).toBeGreaterThan(next)
      offsets.push(...offsetsOf(fetched.records))
      next = fetched.next
    }
    expect(offsets).toEqual(range(0, count + 1))
  }, 20_000)

  test('a batch with one bad record cannot be read, wherever reading it begins', async () => {
    const bad = { offset: 20_000, key: null, value: null }
    const records = [...range(0, 10_000).map(offset => ({ offset, key: null, value: null })), bad]
    const bytes = Buffer.concat([buildBatch(records, { last: 10_000 }), buildBatch([10_001])])
    const limits = { ...ample, roomPerPartition: MiB }
    for (const position of [0, 5000]) {
      const broker = brokerOf(buildFetchAnswer([{ partition: 0, highWatermark: 20_000, bytes }]))
      expect(shape((await readFrom(broker, position, limits)).records)).toEqual([`${position}-10000 lost`])
    }
  })
})

function withByte(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at < 0 ? bytes.length + at : at]! ^= 0xff
  return changed
}
