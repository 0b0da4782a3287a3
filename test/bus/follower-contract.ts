import { randomBytes } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Bus, BusRecord, Follower, From } from '../../src/bus/port.ts'
import { type BusHarness, buildRecord, buildRecords, publishAll, until } from '../support/bus.ts'

/** Collects the records that a follower delivers. The test's `work` delays it, or makes it fail. */
class Handler {
  readonly records: BusRecord[] = []
  readonly chunks: string[][] = []
  work: () => void | Promise<void> = () => {}

  readonly take = async (records: readonly BusRecord[]): Promise<void> => {
    this.chunks.push(records.map(({ key }) => String(key)))
    await this.work()
    this.records.push(...records)
  }

  get keys(): string[] {
    return this.records.map(({ key }) => String(key))
  }
}

/** What every adapter of the bus promises to followers of a partition. */
export function followerContract(harness: () => BusHarness): void {
  describe('a follower', () => {
    let bus: Bus
    let topic: string
    beforeEach(async () => {
      bus = (await harness().process('followers')).bus
      topic = await harness().topic('followed', 2)
    })

    const publish = (keys: string[], partition = 0) => publishAll(bus, buildRecords(topic, keys, { partition }))

    async function follow(from: From, handler = new Handler(), partition = 0) {
      return { handler, follower: await bus.follow({ topic, partition }, from, handler.take) }
    }

    test('gets the existing records in order, and then the new ones', async () => {
      await publish(['a', 'b'])
      const { handler, follower } = await follow('earliest')
      await follower.caughtUp()
      expect(handler.keys).toEqual(['a', 'b'])
      await publish(['c'])
      await publish(['d'])
      await follower.caughtUp()
      expect(handler.keys).toEqual(['a', 'b', 'c', 'd'])
      expect(handler.records.map(({ offset }) => offset)).toEqual([0, 1, 2, 3])
      expect(String(handler.records[0]?.value)).toBe('value of a')
    })

    test('from a timestamp begins with the first record of that time or later', async () => {
      await publish(['a', 'b'])
      const { handler: all, follower: reader } = await follow('earliest')
      await reader.caughtUp()
      const { timestamp } = all.records[1]!
      await until(() => expect(Date.now()).toBeGreaterThan(timestamp))
      await publish(['c', 'd'])
      const { handler, follower } = await follow(timestamp + 1)
      await follower.caughtUp()
      expect(handler.keys).toEqual(['c', 'd'])
    })

    test.each([
      ['the end', () => 'latest' as const],
      ['a timestamp in the future', () => Date.now() + 3_600_000],
    ])('from %s gets only records that are written afterwards', async (_, from) => {
      await publish(['old'])
      const { handler, follower } = await follow(from())
      await publish(['new'])
      await follower.caughtUp()
      expect(handler.keys).toEqual(['new'])
    })

    test('gets no record of aborted transactions, wherever it begins', async () => {
      const group = (prefix: string, abort: boolean) => ({
        records: [0, 1, 2].map(i => buildRecord(topic, prefix + i, { partition: 0 })),
        abort,
      })
      await harness().transactions([group('x', true), group('a', false), group('y', true), group('b', false)])
      await harness().transactions([group('z', true)])
      await publish(['last'])
      const { handler: all } = await follow('earliest')
      const wanted = ['a0', 'a1', 'a2', 'b0', 'b1', 'b2', 'last']
      await until(() => expect([...all.keys].sort()).toEqual(wanted))
      const { handler: some, follower: later } = await follow(all.records[3]!.timestamp)
      await later.caughtUp()
      const from = all.records.findIndex(({ timestamp }) => timestamp >= all.records[3]!.timestamp)
      expect(some.keys).toEqual(all.keys.slice(from))
    })

    test('is caught up despite an open transaction, and gets the records of the transaction in the end', async () => {
      await publish(['before'])
      const transaction = await harness().openTransaction([buildRecord(topic, 'held', { partition: 0 })])
      await publish(['after'])
      const { handler, follower } = await follow('earliest')
      const seen = follower.caughtUp('behind open transactions').then(() => [...handler.keys])
      await follower.caughtUp()
      expect(handler.keys).toContain('before')
      expect(handler.keys).not.toContain('held')
      await transaction.commit()
      expect(await seen).toEqual(expect.arrayContaining(['before', 'after']))
      await until(() => expect([...handler.keys].sort()).toEqual(['after', 'before', 'held']))
    })

    test('is caught up at once with an empty partition', async () => {
      const { handler, follower } = await follow('earliest')
      await follower.caughtUp()
      expect(handler.keys).toEqual([])
    })

    test('gets nothing more while it handles records, and other partitions are not delayed', async () => {
      const held = new Handler()
      const { promise, resolve: release } = Promise.withResolvers<void>()
      held.work = () => promise
      const { follower } = await follow('earliest', held)
      const { handler: other, follower: free } = await follow('earliest', new Handler(), 1)
      await publish(['a'])
      await until(() => expect(held.chunks).toEqual([['a']]))
      await publish(['b'])
      await publish(['c'], 1)
      await free.caughtUp()
      expect(other.keys).toEqual(['c'])
      expect(held.chunks).toEqual([['a']])
      const caughtUp = follower.caughtUp()
      release()
      await caughtUp
      expect(held.keys).toEqual(['a', 'b'])
    })

    test('gets the same records again if their handling failed', async () => {
      const handler = new Handler()
      let failures = 0
      handler.work = async () => {
        if (failures++ === 0) throw new Error('not now')
      }
      await publish(['a', 'b'])
      const { follower } = await follow('earliest', handler)
      await follower.caughtUp()
      expect(handler.chunks.length).toBeGreaterThan(1)
      expect(handler.keys).toEqual(['a', 'b'])
    })

    test('that is closed gets nothing more, and counts as caught up', async () => {
      const handler = new Handler()
      const { follower: stays, handler: staying } = await follow('earliest')
      const { follower } = await follow('earliest', handler)
      handler.work = () => follower.close()
      await publish(['a'])
      await until(() => expect(handler.keys).toEqual(['a']))
      await publish(['b'])
      await follower.caughtUp()
      await stays.caughtUp()
      expect(staying.keys).toEqual(['a', 'b'])
      expect(handler.keys).toEqual(['a'])
    })

    test('that is closed while it handles records counts as caught up', async () => {
      const handler = new Handler()
      handler.work = () => new Promise(() => {})
      await publish(['a'])
      const { follower } = await follow('earliest', handler)
      await until(() => expect(handler.chunks).toHaveLength(1))
      const caughtUp = follower.caughtUp()
      await follower.close()
      await caughtUp
      expect(handler.keys).toEqual([])
    })

    test('gets each record once although other followers of its partition are at other offsets', async () => {
      const keys = Array.from({ length: 8000 }, (_, i) => String(i))
      await publishAll(bus, buildRecords(topic, keys, { partition: 0, value: randomBytes(100) }))
      const behind = await follow('earliest')
      const ahead = await follow('latest')
      const second = await follow('earliest')
      await publish(['new'])
      const followers: Follower[] = [behind, ahead, second].map(({ follower }) => follower)
      await Promise.all(followers.map(follower => follower.caughtUp()))
      expect(behind.handler.chunks.length).toBeGreaterThan(1)
      expect(ahead.handler.keys).toEqual(['new'])
      expect(behind.handler.keys).toEqual([...keys, 'new'])
      expect(second.handler.keys).toEqual([...keys, 'new'])
    })

    test('of a missing topic or partition is refused', async () => {
      await expect(bus.follow({ topic: `${topic}-x`, partition: 0 }, 'earliest', () => {})).rejects.toThrow(
        `${topic}-x`,
      )
      await expect(bus.follow({ topic, partition: 2 }, 'earliest', () => {})).rejects.toThrow(topic)
    })

    test('of a whole topic gets the records of every partition', async () => {
      await publish(['old'])
      const seen: string[] = []
      await bus.read([topic], 'latest', ({ partition }, records) => {
        for (const { key } of records) seen.push(`${key} of ${partition}`)
      })
      await publish(['a'])
      await publish(['b'], 1)
      await until(() => expect([...seen].sort()).toEqual(['a of 0', 'b of 1']))
      await expect(bus.read([topic, `${topic}-x`], 'latest', () => {})).rejects.toThrow(`${topic}-x`)
    })

    test('ends when its bus is closed', async () => {
      const { handler, follower } = await follow('earliest')
      await bus.close()
      bus = (await harness().process('followers')).bus
      await publish(['a'])
      await follower.caughtUp()
      const { follower: next } = await follow('earliest')
      await next.caughtUp()
      expect(handler.keys).toEqual([])
    })
  })
}
