import { type BatchFrame, encodeBatch, type ProducerIdentity } from '../batches/encode-batch.ts'
import { initProducerId } from '../cluster/apis.ts'
import type { Brokers } from '../cluster/brokers.ts'
import type { Line } from '../cluster/channels.ts'
import { isTransient } from '../cluster/errors.ts'
import { askWithRetries, type RetryBudget } from '../cluster/retry-budget.ts'
import type { BatchPart } from './chunks.ts'
import type { EncodedBatch } from './produce-api.ts'

/** Age at which brokers abort the transaction of a dead process. They check every 10 s. */
const transactionTimeoutMs = 10_000
/** Sequence numbers wrap around after it. */
const lastSequence = 0x7fffffff

/** A producer id and epoch with the next sequence number per partition, by which brokers detect a repeated batch. */
export class Producer {
  readonly identity: ProducerIdentity
  readonly #next = new Map<string, number>()

  constructor(identity: ProducerIdentity) {
    this.identity = identity
  }

  encode<P extends BatchPart>(
    parts: readonly P[],
    options: Pick<BatchFrame, 'transactional' | 'compression' | 'timestamp'>,
  ): (P & EncodedBatch)[] {
    return parts.map(part => {
      const { topic, partition, records } = part
      const key = `${topic}/${partition}`
      const sequence = this.#next.get(key) ?? 0
      this.#next.set(key, (sequence + records.length) & lastSequence)
      return { ...part, bytes: encodeBatch(records, { ...this.identity, ...options, sequence }) }
    })
  }
}

/**
 * Initialises a producer. With a transactional id, fences the previous producer of that id and aborts its transaction.
 * @param transactionalId null for a producer without transactions
 */
export async function initialiseProducer(
  brokers: Pick<Brokers, 'ask'>,
  transactionalId: string | null,
  retries: RetryBudget,
  line?: Line,
): Promise<Producer> {
  const target = transactionalId === null ? 'any' : { transaction: transactionalId }
  const request: [string | null, number] = [transactionalId, transactionTimeoutMs]
  const made = await askWithRetries(
    { brokers, target, line, retries, isRetryable: isTransient },
    initProducerId,
    request,
  )
  return new Producer({ producerId: made.producerId, epoch: made.producerEpoch })
}
