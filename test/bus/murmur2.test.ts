import { createRequire } from 'node:module'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionOf } from '../../src/bus/murmur2.ts'

const murmur2 = createRequire(import.meta.url)('kafkajs/src/producer/partitioners/default/murmur2') as (
  key: Buffer,
) => number

const kafkajsPartitionOf = (key: Buffer, partitions: number) => (murmur2(key) & 0x7fffffff) % partitions

test('the partition of a key is the one that other Kafka clients choose', () => {
  const anyKey = fc.uint8Array({ maxLength: 40 }).map(bytes => Buffer.from(bytes))
  fc.assert(
    fc.property(anyKey, fc.integer({ min: 1, max: 1000 }), (key, partitions) => {
      expect(partitionOf(key, partitions)).toBe(kafkajsPartitionOf(key, partitions))
    }),
    { numRuns: 2_000 },
  )
})
