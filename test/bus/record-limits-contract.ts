import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Bus, OutgoingRecord } from '../../src/bus/port.ts'
import { type BusHarness, buildRecord, publishAll, TestListener, until } from '../support/bus.ts'

/** A record of random bytes, which do not compress, with a shorter version of 300 bytes. */
const buildLarge = (topic: string, key: string, bytes: number): OutgoingRecord => ({
  ...buildRecord(topic, key, { value: randomBytes(bytes) }),
  shorter: () => buildRecord(topic, key, { value: randomBytes(300) }),
})

/** The length of the value of each key on a topic. */
async function readSizes(bus: Bus, topic: string) {
  const sizes: Record<string, number> = {}
  await bus.read([topic], 'earliest', (_, records) => {
    for (const { key, value } of records) sizes[key!.toString()] = value!.length
  })
  return sizes
}

let groups = 0

/** What every adapter promises about records that are larger than their topic allows. */
export function recordLimitsContract(harness: () => BusHarness): void {
  describe('records that are larger than their topic allows', () => {
    async function join() {
      const commands = await harness().topic('commands', 1)
      const { bus } = await harness().process(`limits-${process.pid}-${++groups}`)
      const listener = new TestListener()
      await bus.join([commands], listener)
      await until(() => expect(listener.sessions.size).toBe(1))
      const command = async (key: string) => {
        await publishAll(bus, [buildRecord(commands, key)])
        await until(() => expect(listener.freshKeys).toContain(key))
        return listener.fresh.findLast(({ record }) => record.key?.toString() === key)!
      }
      return { bus, listener, command }
    }

    test('are published shortened, and the others whole', async () => {
      const { bus } = await join()
      const topic = await harness().topic('statuses', 2, 20_000)
      await publishAll(bus, [
        buildLarge(topic, 'a', 15_000),
        buildLarge(topic, 'b', 100_000),
        ...Array.from({ length: 200 }, (_, i) => buildLarge(topic, `n${i}`, 1000)),
      ])
      const sizes = await readSizes(bus, topic)
      await until(() => expect(Object.keys(sizes)).toHaveLength(202))
      expect(sizes).toMatchObject({ a: 15_000, b: 300, n0: 1000, n199: 1000 })
    })

    test('are committed shortened, in one transaction with the progress', async () => {
      const { bus, command } = await join()
      const topic = await harness().topic('results', 2, 20_000)
      const { session, record } = await command('a')
      const others = Array.from({ length: 200 }, (_, i) => buildLarge(topic, `n${i}`, 1000))
      session.settle(record.offset, [buildLarge(topic, 'large', 900_000), ...others])
      await session.committed()
      expect(session.alive).toBe(true)
      const sizes = await readSizes(bus, topic)
      await until(() => expect(Object.keys(sizes)).toHaveLength(201))
      expect(sizes).toMatchObject({ large: 300, n0: 1000 })
    })

    test('after the limit was lowered end one session, and the next session shortens them', async () => {
      const { bus, listener, command } = await join()
      const topic = await harness().topic('results', 1, 1_000_000)
      const first = await command('a')
      first.session.settle(first.record.offset, [buildLarge(topic, 'a', 100_000)])
      await first.session.committed()
      await harness().limit(topic, 20_000)
      await command('b')
      const settleLarge = (session: TestListener['fresh'][number]['session'], offset: number, key: string) =>
        session.settle(offset, [buildLarge(topic, key, 100_000)])
      listener.onFresh = (session, records) => {
        for (const { offset, key } of records) settleLarge(session, offset, key!.toString())
      }
      const { session, record } = listener.fresh.at(-1)!
      settleLarge(session, record.offset, 'b')
      const sizes = await readSizes(bus, topic)
      await until(() => expect(sizes).toEqual({ a: 100_000, b: 300 }))
    })

    test('without a shorter version are refused, and later records are written', async () => {
      const { bus } = await join()
      const topic = await harness().topic('statuses', 1, 20_000)
      const publisher = await bus.publisher()
      const large = buildRecord(topic, 'large', { value: randomBytes(100_000) })
      await expect(publisher.publish([large])).rejects.toThrow(/larger than/)
      await publisher.publish([buildRecord(topic, 'small')])
      const sizes = await readSizes(bus, topic)
      await until(() => expect(sizes).toEqual({ small: 'value of small'.length }))
    })
  })
}
