import { describe, expect, test } from 'vitest'
import { fetchCommitted } from '../../src/bus/read/fetch.ts'
import { buildBatch, buildCrowdedRecord, packingNames } from '../support/batches.ts'
import {
  ample,
  answering,
  MiB,
  offsetsOf,
  range,
  read,
  readBytes,
  readFrom,
  readPartitions,
  shape,
} from '../support/fetches.ts'

describe('the response to a fetch', () => {
  test('reports the error of one partition, and returns the records of the others', async () => {
    const bytes = Buffer.concat([buildBatch([40, 41]), buildBatch([42])])
    const answers = answering({ partition: 3, bytes }, { partition: 4, errorCode: 6 })
    expect(await readPartitions(answers, [3, 4])).toMatchObject([
      { ok: true, records: [{ offset: 40 }, { offset: 41 }, { offset: 42 }], next: 43 },
      { ok: false, error: { type: 'NOT_LEADER_OR_FOLLOWER' } },
    ])
  })

  test('says where to continue if compaction removed the end of a batch', async () => {
    const { records, next } = await readBytes(buildBatch([10, 12], { last: 19 }))
    expect([offsetsOf(records), next]).toEqual([[10, 12], 20])
  })

  test('says where to continue if compaction emptied a batch', async () => {
    expect(await readBytes(buildBatch([], { first: 10, last: 19 }))).toMatchObject({ records: [], next: 20 })
  })

  test('ends before a batch that the broker cut off', async () => {
    const second = buildBatch([20], { last: 29 })
    for (const cut of [0, 5, 12, 16, 17, 30, second.length - 1]) {
      const bytes = Buffer.concat([buildBatch([10], { last: 19 }), second.subarray(0, cut)])
      expect(await readBytes(bytes)).toMatchObject({ records: [{ offset: 10 }], next: 20 })
    }
  })

  test('is requested again if its first batch is incomplete because other partitions came first', async () => {
    const whole = buildBatch(range(20, 5))
    const answers = [whole.subarray(0, -1), whole].map(bytes => answering({ bytes }))
    expect(await readFrom(request => answers.shift()!(request), 20)).toMatchObject({ records: { length: 5 }, next: 25 })
  })

  test('begins at the requested offset although its batch begins earlier', async () => {
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

  test('have their keys, values and headers, including missing and empty ones', async () => {
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

  test.each([
    ['in nanoseconds', 1_780_000_000_000_000_000n, -1],
    ['in microseconds', 1_780_000_000_000_000n, -1],
    ['of 2^53', 2n ** 53n, -1],
    ['of 2^63 - 1', 2n ** 63n - 1n, -1],
    ['before 1970', -5n, -1],
    ['of -1, which is none', -1n, -1],
    ['of 1970', 0n, 0],
    ['of the year 9999', 253_402_300_799_999n, 253_402_300_799_999],
  ])(
    'with a timestamp %s are read; the timestamp counts only if it can be in milliseconds',
    async (_, written, read) => {
      const { records } = await readBytes(
        Buffer.concat([buildBatch([5], { firstTimestamp: written }), buildBatch([6], { appendedAt: written })]),
      )
      expect(records.map(({ timestamp }) => timestamp)).toEqual([read, read])
    },
  )

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

  test('do not keep their whole batch in memory', async () => {
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

  test('that were aborted are left out, and all markers too, packed or not', async () => {
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
    const { records, next } = await read({ bytes, abortedTransactions: [{ producerId: 7n, firstOffset: 1 }] })
    expect([offsetsOf(records), next]).toEqual([[2, 5, 7], 9])
  })

  test('that were aborted are left out although their batch cannot be read', async () => {
    const broken = buildBatch([1, 2], {
      producerId: 7,
      transactional: true,
      packing: 'zstd',
      packed: Buffer.alloc.bind(null, 20) as never,
    })
    expect(await read({ bytes: broken, abortedTransactions: [{ producerId: 7n, firstOffset: 1 }] })).toMatchObject({
      records: [],
      next: 3,
    })
  })
})

describe('batches that unpack to more than fits into memory', () => {
  test('are read one at a time from each partition, the rest by the next fetches', async () => {
    const large = (offset: number) => buildBatch([{ offset, value: Buffer.alloc(40 * MiB) }], { packing: 'zstd' })
    const bytes = Buffer.concat(range(5, 2).map(large))
    const answer = answering(...range(0, 3).map(partition => ({ partition, bytes })))
    const fetched = await readPartitions(answer, [0, 1, 2])
    expect(fetched).toMatchObject([{ records: { length: 1 }, next: 6 }, { records: { length: 1 }, next: 6 }, undefined])
  })

  test('of small records are read a few thousand records at a time', async () => {
    const count = 50_000
    const records = range(0, count).map(offset => ({ offset, key: null, value: null }))
    const bytes = Buffer.concat([buildBatch(records, { packing: 'zstd' }), buildBatch([count])])
    const log = answering({ bytes, highWatermark: count + 1 })
    const offsets: number[] = []
    const limits = { ...ample, roomPerPartition: 4 * MiB }
    const position = { tp: { topic: 'topic', partition: 0 }, offset: 0 }
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
  })

  test('with one bad record cannot be read, wherever reading begins', async () => {
    const bad = { offset: 20_000, key: null, value: null }
    const records = [...range(0, 10_000).map(offset => ({ offset, key: null, value: null })), bad]
    const bytes = Buffer.concat([buildBatch(records, { last: 10_000 }), buildBatch([10_001])])
    const limits = { ...ample, roomPerPartition: MiB }
    for (const position of [0, 5000]) {
      const broker = answering({ bytes, highWatermark: 20_000 })
      expect(shape((await readFrom(broker, position, limits)).records)).toEqual([`${position}-10000 lost`])
    }
  })
})
