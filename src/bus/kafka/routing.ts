import type { CompressionTypes, ICustomPartitioner, Message, ProducerBatch, RecordMetadata } from 'kafkajs'
import { type Compression, codecNumbers, leastCompressed } from '../batches/codecs.ts'
import { partitionOf } from '../murmur2.ts'
import type { OutgoingRecord } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { sizeInBatch } from '../record-size.ts'

/** The most bytes that one request carries; kafkajs's time for it grows with the square of the records. */
const chunkBytes = 400_000
const chunkRecords = 500

type SendBatch = (batch: ProducerBatch) => Promise<RecordMetadata[]>

export interface RoutingOptions {
  limits: RecordLimits
  compression: Compression
}

interface Chunk {
  records: OutgoingRecord[]
  bytes: number
}

/** Chooses partitions for one producer and proves that every one that was written to has answered. One send at a time. */
export class Routing {
  readonly #targets = new Map<string, Set<number>>()
  readonly #limits: RecordLimits
  readonly #compression: CompressionTypes

  constructor({ limits, compression }: RoutingOptions) {
    this.#limits = limits
    this.#compression = codecNumbers[compression]
  }

  readonly createPartitioner: ICustomPartitioner = () => {
    let next = 0
    return ({ topic, partitionMetadata, message }) => {
      const count = partitionMetadata.length
      const partition = message.partition ?? (message.key != null ? partitionOf(message.key, count) : next++ % count)
      this.#targetsOf(topic).add(partition)
      return partition
    }
  }

  /**
   * Sends the records as their topics take them, chunk by chunk in their order.
   * @throws Error when a chunk was refused, or when the answer left a partition out: while leadership moves kafkajs can
   * resolve a send of which a part was never written.
   */
  send(sendBatch: SendBatch, records: readonly OutgoingRecord[]): Promise<void> {
    return this.#limits.produce(records, async fitting => {
      for (const chunk of this.#chunks(fitting)) {
        this.#targets.clear()
        const compression = chunk.bytes < leastCompressed ? codecNumbers.none : this.#compression
        const topicMessages = [...Map.groupBy(chunk.records, record => record.topic)].map(([topic, group]) => ({
          topic,
          messages: group.map(toMessage),
        }))
        this.#check(await sendBatch({ topicMessages, acks: -1, compression }))
      }
    })
  }

  /** A chunk becomes at most one batch a partition, which must not be longer than its topic takes. */
  *#chunks(records: readonly OutgoingRecord[]): Iterable<Chunk> {
    let chunk: Chunk = { records: [], bytes: 0 }
    const ofTopics = new Map<string, number>()
    for (const record of records) {
      const size = sizeInBatch(record)
      const ofTopic = (ofTopics.get(record.topic) ?? 0) + size
      const { length } = chunk.records
      const full =
        length >= chunkRecords || chunk.bytes + size > chunkBytes || ofTopic > this.#limits.room(record.topic)
      if (full && length > 0) {
        yield chunk
        chunk = { records: [], bytes: 0 }
        ofTopics.clear()
      }
      chunk.records.push(record)
      chunk.bytes += size
      ofTopics.set(record.topic, (ofTopics.get(record.topic) ?? 0) + size)
    }
    if (chunk.records.length > 0) yield chunk
  }

  #check(written: readonly RecordMetadata[]): void {
    for (const { topicName, partition } of written) this.#targets.get(topicName)?.delete(partition)
    for (const [topic, partitions] of this.#targets) {
      if (partitions.size > 0) {
        throw new Error(`the answer to a send left out ${topic}/${[...partitions].join()}: perhaps not written`)
      }
    }
  }

  #targetsOf(topic: string): Set<number> {
    const targets = this.#targets.get(topic) ?? new Set()
    this.#targets.set(topic, targets)
    return targets
  }
}

function toMessage({ key, value, headers, partition }: OutgoingRecord): Message {
  return { key, value, ...(headers && { headers }), ...(partition !== undefined && { partition }) }
}
