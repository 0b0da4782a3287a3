import type { Kafka, Producer } from 'kafkajs'
import type { Compression } from '../batches/codecs.ts'
import type { OutgoingRecord, Publisher } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { Routing } from './routing.ts'

const publisherRetry = { initialRetryTime: 50, maxRetryTime: 500, retries: 3, multiplier: 1.5 }

/**
 * An idempotent producer for records outside of sessions. One send is in flight at a time, and after a failed one the
 * producer is thrown away: with concurrent sends kafkajs can lose records silently then (its issues 598, 1005, 1050).
 */
export async function kafkaPublisher(kafka: Kafka, limits: RecordLimits, compression: Compression): Promise<Publisher> {
  let current: { producer: Producer; routing: Routing } | null = null
  let previous: Promise<unknown> = Promise.resolve()

  async function connect() {
    const routing = new Routing({ limits, compression })
    const producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      metadataMaxAge: 30_000,
      retry: publisherRetry,
      createPartitioner: routing.createPartitioner,
    })
    await producer.connect()
    return { producer, routing }
  }

  async function send(records: OutgoingRecord[]): Promise<void> {
    current ??= await connect()
    const { producer, routing } = current
    try {
      await routing.send(batch => producer.sendBatch(batch), records)
    } catch (error) {
      current = null
      await producer.disconnect().catch(() => {})
      throw error
    }
  }

  return {
    async connect() {
      current ??= await connect()
    },
    publish(records) {
      const sent = previous.then(() => send(records))
      previous = sent.catch(() => {})
      return sent
    },
    async close() {
      await previous
      await current?.producer.disconnect()
    },
  }
}
