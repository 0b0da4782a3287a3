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
import { passes } from '../cluster/errors.ts'
import { askPatiently, type Patience } from '../cluster/patience.ts'
import type { TopicPartition } from '../port.ts'
import type { BatchPart } from './chunks.ts'
import { produceBatches } from './produce.ts'
import type { Producer } from './producer.ts'

/** A member of the group, as of one generation (KIP-447). */
export interface CommittingMember {
  memberId: string
  generation: number
  instanceId: string | null
}

export interface CommittedOffset extends TopicPartition {
  offset: number
  metadata: string
}

export interface TransactionOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh'>
  clock: Clock
  transactionalId: string
  groupId: string
  compression: Compression
  producer: Producer
  patience: Patience
}

/**
 * The most bytes of metadata in one request: brokers take no batch above their message.max.bytes, and write it as one.
 */
const offsetsBytes = 500_000
/** The bytes that an offset takes beside its metadata, with long names. */
const offsetBytes = 500

/** A coordinator that refuses so has done nothing, and will soon: it still ends the transaction before, or asks about this one. */
const mayPass = (error: unknown) => passes(error, 'transaction', 'loading')

/** One transaction. All of a step are waited for, also when one fails: nothing may be on its way when the next one begins. */
export class Transaction {
  readonly #options: TransactionOptions
  readonly #owner: [transactionalId: string, producerId: bigint, epoch: number]

  constructor(options: TransactionOptions) {
    const { producerId, epoch } = options.producer.identity
    this.#options = options
    this.#owner = [options.transactionalId, producerId, epoch]
  }

  /** Says what will be written. */
  begin(parts: readonly BatchPart[], withOffsets: boolean): Promise<void> {
    return this.#together([
      ...(parts.length > 0 ? [this.#addPartitions(parts)] : []),
      ...(withOffsets ? [this.#askOwn(addOffsetsToTxn, [...this.#owner, this.#options.groupId])] : []),
    ])
  }

  write(chunks: readonly BatchPart[][], offsets: readonly CommittedOffset[], member: CommittingMember): Promise<void> {
    return this.#together([this.#produce(chunks), this.#commitOffsets(offsets, member)])
  }

  async end(committed: boolean): Promise<void> {
    await this.#askOwn(endTxn, [...this.#owner, committed])
  }

  #addPartitions(parts: readonly BatchPart[]): Promise<unknown> {
    const [transactionalId, producerId, producerEpoch] = this.#owner
    const different = [...new Map(parts.map(part => [`${part.topic}/${part.partition}`, part])).values()]
    const topics = byTopic(different, ({ partition }) => partition)
    const transaction = { transactionalId, producerId, producerEpoch, verifyOnly: false, topics }
    return this.#askOwn(addPartitionsToTxn, [[transaction]])
  }

  async #produce(chunks: readonly BatchPart[][]): Promise<void> {
    const { brokers, producer, transactionalId, patience, compression, clock } = this.#options
    for (const chunk of chunks) {
      const batches = producer.encode(chunk, { transactional: true, compression, timestamp: clock.now() })
      const [unwritten] = await produceBatches(batches, { brokers, transactionalId, patience })
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

  /** @throws what failed first */
  async #together(steps: readonly Promise<unknown>[]): Promise<void> {
    const failures: unknown[] = []
    const ends = steps.map(step =>
      step.catch(error => {
        failures.push(error)
        this.#options.patience.end()
      }),
    )
    await Promise.all(ends)
    if (failures.length > 0) throw failures[0]
  }

  #askOwn<Q extends unknown[], A>(api: Api<Q, A>, request: Q): Promise<A> {
    return this.#ask({ transaction: this.#options.transactionalId }, api, request)
  }

  #ask<Q extends unknown[], A>(target: Target, api: Api<Q, A>, request: Q): Promise<A> {
    const { brokers, patience } = this.#options
    return askPatiently({ brokers, target, patience, mayPass }, api, request)
  }
}

/** Each is a request of its own, in the same transaction. */
function* inPieces(offsets: readonly CommittedOffset[]): Iterable<CommittedOffset[]> {
  let piece: CommittedOffset[] = []
  let bytes = 0
  for (const offset of offsets) {
    const size = offsetBytes + Buffer.byteLength(offset.metadata)
    if (bytes + size > offsetsBytes && piece.length > 0) {
      yield piece
      piece = []
      bytes = 0
    }
    piece.push(offset)
    bytes += size
  }
  if (piece.length > 0) yield piece
}
