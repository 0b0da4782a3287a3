import type { Brokers } from '../cluster/brokers.ts'
import { partitionOf } from '../murmur2.ts'
import { PartitionMap } from '../partitions.ts'
import type { OutgoingRecord, TopicPartition } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { sizeInBatch } from '../record-size.ts'

const chunkBytes = 400_000
const chunkRecords = 5000

/** The records of one batch, in order. */
export interface BatchPart extends TopicPartition {
  records: OutgoingRecord[]
}

/** Chooses partitions by key, or round-robin without one, and divides records into requests. */
export class Chunker {
  readonly #brokers: Pick<Brokers, 'partitions'>
  readonly #limits: Pick<RecordLimits, 'room'>
  #turn = 0

  constructor(brokers: Pick<Brokers, 'partitions'>, limits: Pick<RecordLimits, 'room'>) {
    this.#brokers = brokers
    this.#limits = limits
  }

  /**
   * Divides the records into chunks, in order. A chunk has at most one batch per partition, within the topic's
   * max.message.bytes. A larger record gets its own batch, so that no other record is refused with it.
   * @throws Error when a topic does not exist
   */
  async chunks(records: readonly OutgoingRecord[]): Promise<BatchPart[][]> {
    const counts = await this.partitionCounts(records)
    const chunks: BatchPart[][] = []
    let chunk = new Chunk()
    for (const record of records) {
      const { topic } = record
      const tp = { topic, partition: record.partition ?? this.#choose(record, counts.get(topic)!) }
      const size = sizeInBatch(record)
      if (!chunk.takes(tp, size, this.#limits.room(topic))) {
        chunks.push(chunk.parts)
        chunk = new Chunk()
      }
      chunk.add(record, tp, size)
    }
    if (records.length > 0) chunks.push(chunk.parts)
    return chunks
  }

  #choose({ key }: OutgoingRecord, count: number): number {
    return key !== null ? partitionOf(key, count) : this.#turn++ % count
  }

  /** Partition counts of the records' topics. @throws Error when one of them does not exist */
  async partitionCounts(records: readonly OutgoingRecord[]): Promise<Map<string, number>> {
    const topics = [...new Set(records.map(({ topic }) => topic))]
    return new Map(await Promise.all(topics.map(async topic => [topic, await this.#countOf(topic)] as const)))
  }

  async #countOf(topic: string): Promise<number> {
    const count = await this.#brokers.partitions(topic)
    if (count > 0) return count
    throw new Error(
      `${topic}: no such topic, or no right to see it. Create it (busgate topics create), or grant Describe.`,
    )
  }
}

interface SizedPart extends BatchPart {
  size: number
}

class Chunk {
  readonly #parts = new PartitionMap<SizedPart>()
  #records = 0
  #bytes = 0

  get parts(): SizedPart[] {
    return [...this.#parts]
  }

  takes(tp: TopicPartition, size: number, room: number): boolean {
    if (this.#records === 0) return true
    const used = this.#parts.get(tp)?.size ?? 0
    const isRoomInBatch = used === 0 || used + size <= room
    return this.#records < chunkRecords && this.#bytes + size <= chunkBytes && isRoomInBatch
  }

  add(record: OutgoingRecord, tp: TopicPartition, size: number): void {
    const part = this.#parts.get(tp) ?? { ...tp, records: [], size: 0 }
    this.#parts.set(tp, part)
    part.records.push(record)
    part.size += size
    this.#records++
    this.#bytes += size
  }
}

/** Tells the records of a batch where they are. @param baseOffset of the first; negative if the broker did not say */
export function tellPlaces({ topic, partition, records }: BatchPart, baseOffset: number): void {
  if (baseOffset < 0) return
  for (const [i, { written }] of records.entries()) written?.({ topic, partition, offset: baseOffset + i })
}
