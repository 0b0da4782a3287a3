import pLimit from 'p-limit'
import { type Compression, codecNumbers } from '../batches/codecs.ts'
import { partitionOf } from '../murmur2.ts'
import type { OutgoingRecord, Publisher } from '../port.ts'

/** Most records of one request: kafkajs takes time proportional to the square of their number. */
const recordsAtOnce = 500

/** The part of a kafkajs producer that is used. */
export interface KafkajsProducer {
  sendBatch(batch: {
    topicMessages: { topic: string; messages: Message[] }[]
    acks: number
    compression: number
  }): Promise<{ topicName: string; partition: number }[]>
  isIdempotent?(): boolean
}

/**
 * The part of a kafkajs client that is used. The types of kafkajs would require Node's types in every project that compiles
 * against these.
 */
export interface KafkajsClient {
  producer(options: {
    idempotent: boolean
    maxInFlightRequests: number
    createPartitioner: CreatePartitioner
  }): KafkajsProducer & { connect(): Promise<void>; disconnect(): Promise<void> }
}

interface Message {
  key: Buffer | string | null
  value: Buffer | null
  headers?: NonNullable<OutgoingRecord['headers']>
  partition?: number
}

type CreatePartitioner = () => (args: {
  topic: string
  partitionMetadata: readonly unknown[]
  message: { key?: Buffer | string | null }
}) => number

/** A publisher that is already connected. */
type ConnectedPublisher = Pick<Publisher, 'publish' | 'close'>

/**
 * Publishes through a kafkajs producer that the caller connects and disconnects.
 * @throws Error when it is not idempotent
 */
export function kafkajsPublisher(producer: KafkajsProducer, compression: Compression): ConnectedPublisher {
  if (producer.isIdempotent?.() === false) {
    throw new Error(
      'the kafkajs producer is not idempotent: create it with { idempotent: true, maxInFlightRequests: 1 }',
    )
  }
  return { publish: records => publish(producer, records, compression), close: async () => {} }
}

/**
 * Publishes through its own producer of a kafkajs client, idempotent and with the Java client's partitioner. Connected until
 * `close`.
 */
export async function connectKafkajsPublisher(
  kafka: KafkajsClient,
  compression: Compression,
): Promise<ConnectedPublisher> {
  const chosen = new Set<string>()
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1, // kafkajs otherwise breaks the order that idempotence requires
    createPartitioner: javaPartitioner((topic, partition) => chosen.add(`${topic}/${partition}`)),
  })
  await producer.connect()
  const writer: KafkajsProducer = {
    async sendBatch(batch) {
      chosen.clear()
      const written = await producer.sendBatch(batch)
      for (const { topicName, partition } of written) chosen.delete(`${topicName}/${partition}`)
      // while leaders move, kafkajs can resolve a send although part of it was never written
      if (chosen.size > 0)
        throw new Error(`kafkajs did not confirm the send to ${[...chosen].join()}: perhaps not written`)
      return written
    },
  }
  /** One at a time: kafkajs can lose records silently when concurrent sends of an idempotent producer fail. */
  const inTurn = pLimit(1)
  return {
    publish: records => inTurn(() => publish(writer, records, compression)),
    close: () => inTurn(() => producer.disconnect()),
  }
}

async function publish(
  producer: KafkajsProducer,
  records: readonly OutgoingRecord[],
  compression: Compression,
): Promise<void> {
  for (let from = 0; from < records.length; from += recordsAtOnce) {
    const byTopic = Map.groupBy(records.slice(from, from + recordsAtOnce), ({ topic }) => topic)
    const topicMessages = Array.from(byTopic, ([topic, some]) => ({ topic, messages: some.map(messageOf) }))
    await producer.sendBatch({ topicMessages, acks: -1, compression: codecNumbers[compression] })
  }
}

function messageOf({ key, value, headers, partition }: OutgoingRecord): Message {
  return { key, value, ...(headers && { headers }), ...(partition !== undefined && { partition }) }
}

function javaPartitioner(chose: (topic: string, partition: number) => void): CreatePartitioner {
  return () => {
    let next = 0
    return ({ topic, partitionMetadata: { length }, message: { key } }) => {
      const partition = key == null ? next++ % length : partitionOf(Buffer.from(key), length)
      chose(topic, partition)
      return partition
    }
  }
}
