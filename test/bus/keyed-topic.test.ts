import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KeyedTopic, mayHold, partitionsSharingKeys } from '../../src/bus/keyed-topic.ts'
import { partitionOf } from '../../src/bus/murmur2.ts'
import { openMemoryBus } from '../support/bus.ts'
import { ManualClock } from '../support/clock.ts'

const minute = 60_000
const hour = 60 * minute

/** Steps in the life of a topic: a record of a writer whose knowledge is up to five minutes old, or more partitions. */
const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.nat(2_000), fc.nat(10 * minute), fc.nat(2 * hour)),
    add: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }) }),
    key: fc.bigInt({ min: 1n, max: 9_999n }).map(String),
    behindMs: fc.nat(5 * minute),
  }),
  { minLength: 1, maxLength: 30 },
)

/** Writes into a topic that grows. */
function buildGrowingTopic(partitions: number) {
  const clock = new ManualClock()
  const { broker, bus } = openMemoryBus(['statuses'], { clock, partitions })
  const counts = [{ since: Number.NEGATIVE_INFINITY, count: partitions }]
  return {
    clock,
    broker,
    open: () => new KeyedTopic(bus, 'statuses', clock),
    grow(more: number) {
      const count = counts.at(-1)!.count + more
      counts.push({ since: clock.now(), count })
      broker.addPartitions('statuses', count)
    },
    /** @returns the partition that a writer chooses who last looked that long ago */
    write(key: string, behindMs: number) {
      const { count } = counts.findLast(({ since }) => since <= clock.now() - behindMs) ?? counts[0]!
      const partition = partitionOf(key, count)
      broker.append([{ topic: 'statuses', key, value: null, partition }], clock.now())
      return { key, partition, count, at: clock.now() }
    },
  }
}

describe('a topic to which partitions are added', () => {
  test('has every record with a key on one of the places of the key, whenever the reader began', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 6 }), steps, fc.nat(29), async (partitions, life, begins) => {
        const { clock, open, grow, write } = buildGrowingTopic(partitions)
        let topic: KeyedTopic | null = null
        const written: ReturnType<typeof write>[] = []
        for (const [i, { afterMs, add, key, behindMs }] of life.entries()) {
          await clock.pass(afterMs)
          if (add > 0) grow(add)
          written.push(write(key, behindMs))
          if (i >= begins) topic ??= open()
          await topic?.look()
        }
        topic ??= open()
        await topic.look(0)
        for (const { key, partition, at } of written) {
          for (const since of [at, at - hour]) {
            const place = topic.placesOf(key, since).find(one => one.partition === partition)
            expect(place?.until).toBeGreaterThan(at)
            expect(mayHold(partition, key, topic.countsSince(since))).toBe(true)
          }
        }
      }),
    )
  })

  test('has one place for a key again, once each partition has a record that is older', async () => {
    const { clock, broker, open, grow } = buildGrowingTopic(4)
    grow(8)
    for (let partition = 0; partition < 12; partition++) {
      broker.append([{ topic: 'statuses', key: null, value: null, partition }], clock.now())
    }
    const since = clock.now() + 10 * minute
    await clock.pass(hour)
    const topic = open()
    await topic.look()
    expect(topic.countsSince(since)).toEqual({ least: 12, most: 12 })
    expect(topic.placesOf('7', since)).toEqual([{ partition: partitionOf('7', 12), until: Infinity }])
  })

  test('has one place for a key again, some minutes after this process saw its last partition, with or without records', async () => {
    const { clock, open, grow } = buildGrowingTopic(4)
    grow(8)
    const topic = open()
    await topic.look()
    const since = clock.now() + 10 * minute
    await clock.pass(hour)
    await topic.look()
    expect(topic.placesOf('7', since)).toHaveLength(1)
    expect(topic.placesOf('7', clock.now() - 2 * hour).length).toBeGreaterThan(1)
  })

  test('is searched everywhere if a timestamp of its records is in seconds', async () => {
    const { clock, broker, open, grow } = buildGrowingTopic(4)
    grow(8)
    broker.append([{ topic: 'statuses', key: null, value: null, partition: 11 }], clock.now() / 1000)
    const topic = open()
    await topic.look()
    expect(topic.countsSince(clock.now())).toEqual({ least: 1, most: 12 })
  })
})

describe('the partitions that share keys with one of another topic', () => {
  const counts = fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 8 }))
    .map(([least, more]) => ({ least, most: least + more }))

  test('hold every key that may be there, by any numbers of partitions', () => {
    const key = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String)
    fc.assert(
      fc.property(counts, counts, key, (own, others, key) => {
        for (let count = own.least; count <= own.most; count++) {
          const shared = partitionsSharingKeys(partitionOf(key, count), own, others)
          for (let other = others.least; other <= others.most; other++) {
            expect(shared).toContain(partitionOf(key, other))
          }
        }
      }),
    )
  })

  test.each([
    [3, 12, 12, [3]],
    [3, 4, 12, [3, 7, 11]],
    [7, 12, 4, [3]],
    [1, 4, 6, [1, 3, 5]],
  ])('%i of %i are only those with such keys of %i', (partition, own, others, shared) => {
    const found = partitionsSharingKeys(partition, { least: own, most: own }, { least: others, most: others })
    expect([...found].toSorted((a, b) => a - b)).toEqual(shared)
  })
})
