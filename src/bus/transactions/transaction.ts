import type { Clock } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import {
  type Api,
  addOffsetsToTxn,
  addPartitionsToTxn,
  byTopic,
  endTxn,
  noEpoch,
  txnOffsetCommit,
} from '../cluster/apis.ts'
import type { Brokers, Target } from '../cluster/brokers.ts'
import { isTransient } from '../cluster/errors.ts'
import { askWithRetries, RetryBudget } from '../cluster/retry-budget.ts'
import type { Part } from '../driver.ts'
import { type BatchPart, tellPlaces } from '../write/chunks.ts'
import { produceBatches } from '../write/produce.ts'
import type { Producer } from '../write/producer.ts'

/** A member of the group in one generation (KIP-447). */
export interface CommittingMember {
  memberId: string
  generation: number
  instanceId: string | null
}

export type CommittedOffset = Omit<Part, 'records'>

export interface TransactionOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh'>
  clock: Clock
  transactionalId: string
  groupId: string
  compression: Compression
  producer: Producer
}

export interface TransactionContent {
  chunks: readonly BatchPart[][]
  /** Offsets, or records in `chunks`: some brokers cannot end a transaction without writes. */
  offsets: readonly CommittedOffset[]
  /** A transaction of an older generation than the group's is refused, together with its records; null without offsets. */
  member: CommittingMember | null
}

/** Most bytes of metadata in one request: the coordinator writes them as one batch, bounded by message.max.bytes. */
const offsetsBytes = 500_000
/** Bytes of an offset besides its metadata, with long names. */
const offsetBytes = 500

/** The coordinator is still ending the previous transaction, or loading its state; it has not done anything yet. */
const isRetryable = (error: unknown) => isTransient(error, 'transaction', 'loading')

/**
 * One transaction. Every step waits for all of its requests even if one fails, so that none is in flight when the next
 * transaction begins.
 */
export class Transaction {
  readonly #options: TransactionOptions
  readonly #retries: RetryBudget
  readonly #owner: [transactionalId: string, producerId: bigint, epoch: number]

  constructor(options: TransactionOptions) {
    const { producerId, epoch } = options.producer.identity
    this.#options = options
    this.#retries = new RetryBudget(options.clock)
    this.#owner = [options.transactionalId, producerId, epoch]
  }

  /** Writes the content, and commits or aborts it. */
  async run({ chunks, offsets, member }: TransactionContent, isCommitted: boolean): Promise<void> {
    const parts = chunks.flat()
    await this.#together([
      ...(parts.length > 0 ? [this.#addPartitions(parts)] : []),
      ...(member ? [this.#askOwn(addOffsetsToTxn, [...this.#owner, this.#options.groupId])] : []),
    ])
    await this.#together([this.#produce(chunks), ...(member ? [this.#commitOffsets(offsets, member)] : [])])
    await this.#askOwn(endTxn, [...this.#owner, isCommitted])
  }

  #addPartitions(parts: readonly BatchPart[]): Promise<unknown> {
    const [transactionalId, producerId, producerEpoch] = this.#owner
    const different = [...new Map(parts.map(part => [`${part.topic}/${part.partition}`, part])).values()]
    const topics = byTopic(different, ({ partition }) => partition)
    const transaction = { transactionalId, producerId, producerEpoch, verifyOnly: false, topics }
    return this.#askOwn(addPartitionsToTxn, [[transaction]])
  }

  async #produce(chunks: readonly BatchPart[][]): Promise<void> {
    const { brokers, producer, transactionalId, compression, clock } = this.#options
    for (const chunk of chunks) {
      const batches = producer.encode(chunk, { transactional: true, compression, timestamp: clock.now() })
      const [unwritten] = await produceBatches(batches, {
        ...{ brokers, transactionalId, retries: this.#retries },
        written: tellPlaces,
      })
      if (unwritten) throw unwritten.error
    }
  }

  async #commitOffsets(
    offsets: readonly CommittedOffset[],
    { generation, memberId, instanceId }: CommittingMember,
  ): Promise<void> {
    const [transactionalId, producerId, epoch] = this.#owner
    const { groupId } = this.#options
    for (const some of inPieces(offsets)) {
      const topics = byTopic(some, ({ partition, offset, metadata }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: noEpoch,
        committedMetadata: metadata,
      }))
      await this.#ask({ group: groupId }, txnOffsetCommit, [
        ...([transactionalId, groupId, producerId, epoch] as const),
        ...([generation, memberId, instanceId, topics] as const),
      ])
    }
  }

  /** @throws the first error */
  async #together(steps: readonly Promise<unknown>[]): Promise<void> {
    const failures: unknown[] = []
    const ends = steps.map(step =>
      step.catch(error => {
        failures.push(error)
        this.#retries.end()
      }),
    )
    await Promise.all(ends)
    if (failures.length > 0) throw failures[0]
  }

  #askOwn<Q extends unknown[], A>(api: Api<Q, A>, request: Q): Promise<A> {
    return this.#ask({ transaction: this.#options.transactionalId }, api, request)
  }

  #ask<Q extends unknown[], A>(target: Target, api: Api<Q, A>, request: Q): Promise<A> {
    const { brokers } = this.#options
    return askWithRetries({ brokers, target, retries: this.#retries, isRetryable }, api, request)
  }
}

/** Splits offsets into several requests of the same transaction. */
function* inPieces(offsets: readonly CommittedOffset[]): Iterable<CommittedOffset[]> {
  let piece: CommittedOffset[] = []
  let bytes = 0
  for (const offset of offsets) {
    const size = offsetBytes + Buffer.byteLength(offset.metadata)
    if (bytes + size > offsetsBytes) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(offset)
    bytes += size
  }
  yield piece
}
