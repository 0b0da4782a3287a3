import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Bus, BusRecord, From, Needle, Query } from '../../src/bus/port.ts'
import { type BusHarness, buildRecord, publishAll, until } from '../support/bus.ts'

/** What every adapter of the bus promises to searches for records by their content. */
export function searchContract(harness: () => BusHarness): void {
  describe('a search', () => {
    let bus: Bus
    let topic: string
    beforeEach(async () => {
      bus = (await harness().process('searchers')).bus
      topic = await harness().topic('searched', 2)
    })

    const tp = () => ({ topic, partition: 0 })
    const publish = (keys: string[], size = 10) =>
      publishAll(
        bus,
        keys.map(key =>
          buildRecord(topic, key, { partition: 0, value: Buffer.concat([randomBytes(size), Buffer.from(`(${key})`)]) }),
        ),
      )
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i))

    async function look(range: Pick<Query, 'from' | 'until'>, needles: Needle[]) {
      const records: BusRecord[] = []
      const take = async (some: readonly BusRecord[]) => void records.push(...some)
      const found = await bus.search(tp(), { ...range, needles, ending: new AbortController().signal, take })
      return { ...found, records, keys: records.map(({ key }) => String(key)) }
    }
    const search = (from: From, ...needles: Needle[]) => look({ from }, needles)
    const searchUntil = (until: number, ...needles: Needle[]) => look({ from: 'earliest', until }, needles)
    const key = (text: string): Needle => ({ key: Buffer.from(text) })
    const bytes = (text: string): Needle => ({ bytes: Buffer.from(text) })

    test('finds all records with a key among thousands, and none whose key only begins or ends with it', async () => {
      await publish(range(1000, 9000), 4000) // more than one answer holds
      await publish(['4321', '14321', '43210'])
      const { keys, from, until: behind, start } = await search('earliest', key('4321'))
      expect(keys).toEqual(['4321', '4321'])
      expect({ from, start, count: behind - from >= 8003 }).toEqual({ from: 0, start: 0, count: true })
    })

    test('finds records by bytes in their values, by key, or by either', async () => {
      await publish(range(0, 100))
      expect((await search('earliest', bytes('(42)'))).keys).toEqual(['42'])
      expect((await search('earliest', key('7'), bytes('(42)'))).keys).toEqual(['7', '42'])
      expect((await search('earliest', bytes('(142)'))).keys).toEqual([])
    })

    test('begins at a timestamp or offset, ends before a timestamp, and says what it has searched', async () => {
      await publish(['1', '2'])
      const { records } = await search('earliest', key('2'))
      await until(() => expect(Date.now()).toBeGreaterThan(records[0]!.timestamp))
      await publish(['2'])
      const later = await search(records[0]!.timestamp + 1, bytes('(2)'))
      expect(later.keys).toEqual(['2'])
      expect(later.records[0]!.offset).toBe(later.from)
      expect(later.since).toBe(later.records[0]!.timestamp)
      expect((await search({ offset: 1 }, bytes('('))).keys).toEqual(['2', '2'])
      expect(await search('latest', key('2'))).toMatchObject({ keys: [], since: null })
      expect(await search('earliest', bytes('('))).toMatchObject({ keys: ['1', '2', '2'] })
      expect(await searchUntil(later.since!, bytes('('))).toMatchObject({ keys: ['1', '2'], until: later.from })
      expect(await searchUntil(1, bytes('('))).toMatchObject({ keys: [], since: null })
    })

    test('finds no records of aborted and open transactions', async () => {
      const one = (name: string) => [buildRecord(topic, name, { partition: 0 })]
      await harness().transactions([
        { records: [...one('a'), ...one('wanted')], abort: true },
        { records: [...one('b'), ...one('wanted')] },
      ])
      await until(async () => expect((await search('earliest', key('wanted'))).keys).toEqual(['wanted']))
      const transaction = await harness().openTransaction(one('wanted'))
      expect((await search('earliest', key('wanted'))).keys).toEqual(['wanted'])
      await transaction.commit()
      await until(async () => expect((await search('earliest', key('wanted'))).keys).toEqual(['wanted', 'wanted']))
    })

    test('delivers all matches in order, and fails if their handling fails', async () => {
      await publish(range(1000, 9000), 4000)
      expect((await search('earliest', bytes('('))).keys).toEqual(range(1000, 9000))
      const take = async () => Promise.reject(new Error('enough'))
      const query = { from: 'earliest', needles: [bytes('(')], ending: new AbortController().signal, take } as const
      await expect(bus.search(tp(), query)).rejects.toThrow('enough')
    })

    test('says where the log begins if older records were deleted', async () => {
      await publish(range(0, 10))
      await harness().deleteRecords(topic, 0, 4)
      expect(await search('earliest', bytes('('))).toMatchObject({ from: 4, start: 4, keys: range(4, 10) })
    })

    test('is not delayed by a follower of the same process that waits for records', async () => {
      await publish(['1', '2'])
      const followers = await Promise.all(
        [0, 1].map(partition => bus.follow({ topic, partition }, 'earliest', () => {})),
      )
      await Promise.all(followers.map(follower => follower.caughtUp()))
      // a follower's fetch waits for some seconds: twenty of them would outlast the test
      for (let i = 0; i < 20; i++) expect((await search('earliest', key('2'))).keys).toEqual(['2'])
    })

    test('of a missing partition fails', async () => {
      const nowhere = bus.search(
        { topic, partition: 9 },
        { from: 'earliest', needles: [key('1')], ending: AbortSignal.any([]), take: async () => {} },
      )
      await expect(nowhere).rejects.toThrow()
    })
  })

  test('the progress of a group is null on partitions where it has committed nothing', async () => {
    const { bus } = await harness().process('progress')
    const topic = await harness().topic('progress', 2)
    const tps = [0, 1].map(partition => ({ topic, partition }))
    expect(await bus.progress(`${topic}-group`, tps)).toEqual([null, null])
  })
}
