import pLimit from 'p-limit'
import { type Compression, codecNumbers } from '../batches/codecs.ts'
import { partitionOf } from '../murmur2.ts'
import { placeName } from '../partitions.ts'
import type { OutgoingRecord, Publisher, TopicPartition } from '../port.ts'

/** Most records of one request: kafkajs takes time proportional to the square of their number. */
const recordsAtOnce = 500

/** The part of a kafkajs producer that is used. */
export interface KafkajsProducer {
  sendBatch(batch: {
    topicMessages: { topic: string; messages: Message[] }[]
    acks: number
    compression: number
  }): Promise<Written[]>
  isIdempotent?(): boolean
}

/** The answer for one partition. */
interface Written {
  topicName: string
  partition: number
  /** Offset of its first record, in digits; negative if it is unknown. */
  baseOffset?: string
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
  const chosen = new Map<object, TopicPartition>()
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1, // kafkajs otherwise breaks the order that idempotence requires
    createPartitioner: javaPartitioner((message, tp) => chosen.set(message, tp)),
  })
  await producer.connect()
  const writer: KafkajsProducer = {
    async sendBatch(batch) {
      chosen.clear()
      const written = await producer.sendBatch(batch)
      const missing = new Set(Array.from(chosen.values(), placeName))
      for (const { topicName: topic, partition } of written) missing.delete(placeName({ topic, partition }))
      // while leaders move, kafkajs can resolve a send although part of it was never written
      if (missing.size > 0)
        throw new Error(`kafkajs did not confirm the send to ${[...missing].join()}: perhaps not written`)
      return written
    },
  }
  const placeOf = (message: Message) => chosen.get(message) ?? null
  /** One at a time: kafkajs can lose records silently when concurrent sends of an idempotent producer fail. */
  const inTurn = pLimit(1)
  return {
    publish: records => inTurn(() => publish(writer, records, compression, placeOf)),
    close: () => inTurn(() => producer.disconnect()),
  }
}

async function publish(
  producer: KafkajsProducer,
  records: readonly OutgoingRecord[],
  compression: Compression,
  chosen: (message: Message) => TopicPartition | null = () => null,
): Promise<void> {
  for (let from = 0; from < records.length; from += recordsAtOnce) {
    const some = records.slice(from, from + recordsAtOnce).map(record => ({ record, message: messageOf(record) }))
    const byTopic = Map.groupBy(some, ({ record }) => record.topic)
    const topicMessages = Array.from(byTopic, ([topic, of]) => ({ topic, messages: of.map(({ message }) => message) }))
    const answers = await producer.sendBatch({ topicMessages, acks: -1, compression: codecNumbers[compression] })
    const places = new Places(answers)
    for (const { record, message } of some) places.tell(record, chosen(message))
  }
}

/** Finds out where records are, from the answers of kafkajs and the order of the records. */
class Places {
  readonly #next = new Map<string, number>()
  /** The topics of which one partition was written. */
  readonly #only = new Map<string, TopicPartition | null>()

  constructor(answers: readonly Written[]) {
    for (const { topicName: topic, partition, baseOffset = '-1' } of answers) {
      this.#only.set(topic, this.#only.has(topic) ? null : { topic, partition })
      if (Number(baseOffset) >= 0) this.#next.set(placeName({ topic, partition }), Number(baseOffset))
    }
  }

  /** Tells the next record of a partition where it is. @param chosen null: unknown, unless its topic has only one */
  tell({ topic, written }: OutgoingRecord, chosen: TopicPartition | null): void {
    const tp = chosen ?? this.#only.get(topic) ?? null
    const offset = tp ? this.#next.get(placeName(tp)) : undefined
    if (tp === null || offset === undefined) return
    this.#next.set(placeName(tp), offset + 1)
    written?.({ ...tp, offset })
  }
}

function messageOf({ key, value, headers, partition }: OutgoingRecord): Message {
  return { key, value, ...(headers && { headers }), ...(partition !== undefined && { partition }) }
}

function javaPartitioner(chose: (message: object, tp: TopicPartition) => void): CreatePartitioner {
  return () => {
    let next = 0
    return ({ topic, partitionMetadata: { length }, message }) => {
      const { key } = message
      const partition = key == null ? next++ % length : partitionOf(Buffer.from(key), length)
      chose(message, { topic, partition })
      return partition
    }
  }
}
