import kafkajs, { type Message, type TopicMessages } from 'kafkajs'
import { expect, it } from 'vitest'
import { encodeRecords } from '../../src/bus/batches/records-encoding.ts'
import { Routing } from '../../src/bus/kafka/routing.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'
import { RecordLimits } from '../../src/bus/record-limits.ts'
import { Telemetry } from '../../src/telemetry/events.ts'
import { ManualClock } from '../support/clock.ts'

const limitsOf = (maxMessageBytes: number) =>
  new RecordLimits({ ask: async () => maxMessageBytes, clock: new ManualClock(), telemetry: new Telemetry() })

async function batchesOf(records: OutgoingRecord[], maxMessageBytes: number): Promise<Message[][]> {
  const limits = limitsOf(maxMessageBytes)
  const sent: TopicMessages[] = []
  await new Routing({ limits, compression: 'none' }).send(async ({ topicMessages = [] }) => {
    sent.push(...topicMessages)
    return []
  }, records)
  return sent.map(({ messages }) => [...messages])
}

const buildRecords = (count: number, topic: string): OutgoingRecord[] =>
  Array.from({ length: count }, (_, i) => ({
    topic,
    key: Buffer.from(String(i)),
    value: Buffer.alloc(100),
    headers: { tracestate: 'x'.repeat(400), several: [Buffer.alloc(50), 'y'.repeat(50)] },
  }))

it.each([2000, 20_000, 1_048_588])('keeps each batch below what its topic takes: %i bytes', async most => {
  const records = [...buildRecords(2000, 'overdue'), ...buildRecords(2000, 'statuses')]
  const batches = await batchesOf(records, most)
  expect(batches.flat().map(({ key }) => key)).toEqual(records.map(({ key }) => key))
  for (const batch of batches) expect(61 + encodeRecords(batch).length).toBeLessThan(most)
})

it('sends what is larger than its topic takes by itself, so that nothing else is refused with it', async () => {
  const [small, large] = [
    buildRecords(1, 'results')[0]!,
    { ...buildRecords(1, 'results')[0]!, value: Buffer.alloc(5000) },
  ]
  const batches = await batchesOf([small, large, small], 4000)
  expect(batches.map(batch => batch.length)).toEqual([1, 1, 1])
})

it('compresses what is long enough to become smaller, and leaves the rest as it is', async () => {
  const compressionOf = async (value: Buffer) => {
    const used: unknown[] = []
    await new Routing({ limits: limitsOf(1_048_588), compression: 'gzip' }).send(
      async ({ compression }) => {
        used.push(compression)
        return []
      },
      [{ topic: 'results', key: null, value }],
    )
    return used
  }
  expect(await compressionOf(Buffer.alloc(100))).toEqual([kafkajs.CompressionTypes.None])
  expect(await compressionOf(Buffer.alloc(2000))).toEqual([kafkajs.CompressionTypes.GZIP])
})
