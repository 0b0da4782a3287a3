import kafkajs, { type TopicMessages } from 'kafkajs'
import { expect, it } from 'vitest'
import { encodeRecords } from '../../src/bus/kafka/records-encoding.ts'
import { Routing } from '../../src/bus/kafka/routing.ts'
import type { OutgoingRecord } from '../../src/bus/port.ts'

/** Of a broker that nobody has configured. */
const messageMaxBytes = 1_048_588

it('keeps batches of small records with long headers below what a broker takes', async () => {
  const headers = { tracestate: 'x'.repeat(400), several: [Buffer.alloc(50), 'y'.repeat(50)] }
  const records: OutgoingRecord[] = Array.from({ length: 4000 }, (_, i) => ({
    topic: 'overdue',
    key: Buffer.from(String(i)),
    value: Buffer.alloc(100),
    headers,
  }))
  const sent: TopicMessages[] = []
  await new Routing('none').send(async ({ topicMessages = [] }) => {
    sent.push(...topicMessages)
    return []
  }, records)
  expect(sent.reduce((sum, { messages }) => sum + messages.length, 0)).toBe(4000)
  for (const { messages } of sent) expect(encodeRecords([...messages]).length).toBeLessThan(messageMaxBytes / 2)
})

it('compresses what is long enough to become smaller, and leaves the rest as it is', async () => {
  const compressionOf = async (value: Buffer) => {
    const used: unknown[] = []
    await new Routing('gzip').send(
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
