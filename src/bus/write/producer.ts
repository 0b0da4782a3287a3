import type { Compression } from '../batches/codecs.ts'
import { encodeBatch, type ProducerIdentity } from '../batches/encode-batch.ts'
import { initProducerId } from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { passes } from '../cluster/errors.ts'
import { askPatiently, type Patience } from '../cluster/patience.ts'
import type { TopicPartition } from '../port.ts'
import type { BatchPart } from './chunks.ts'
import type { EncodedBatch } from './produce-api.ts'

/** The age at which brokers end a transaction of a process that is gone. They look every 10 s. */
const transactionTimeoutMs = 10_000
/** Sequence numbers begin anew behind it. */
const lastSequence = 0x7fffffff

export interface BatchOptions {
  transactional: boolean
  compression: Compression
  /** Milliseconds since 1970. */
  timestamp: number
}

/**
 * A producer as brokers know it, and how many records it has written to each partition: by these numbers brokers know a
 * batch that is sent again.
 */
export class Producer {
  readonly identity: ProducerIdentity
  readonly #next = new Map<string, number>()

  constructor(identity: ProducerIdentity) {
    this.identity = identity
  }

  encode<P extends BatchPart>(parts: readonly P[], options: BatchOptions): (P & EncodedBatch)[] {
    return parts.map(part => {
      const sequence = this.#take(part, part.records.length)
      return { ...part, bytes: encodeBatch(part.records, { ...this.identity, ...options, sequence }) }
    })
  }

  /** @returns the number of the first of so many records */
  #take({ topic, partition }: TopicPartition, count: number): number {
    const key = `${topic}/${partition}`
    const first = this.#next.get(key) ?? 0
    this.#next.set(key, (first + count) & lastSequence)
    return first
  }
}

/**
 * Makes a producer. Of a transactional id it is the only one from now on: whoever had it is fenced, and its transaction ended.
 * @param transactionalId null: it has no transactions
 */
export async function initialiseProducer(
  brokers: Pick<Brokers, 'ask'>,
  transactionalId: string | null,
  patience: Patience,
): Promise<Producer> {
  const target = transactionalId === null ? 'any' : { transaction: transactionalId }
  const request: [string | null, number] = [transactionalId, transactionTimeoutMs]
  const made = await askPatiently({ brokers, target, patience, mayPass: passes }, initProducerId, request)
  return new Producer({ producerId: made.producerId, epoch: made.producerEpoch })
}
