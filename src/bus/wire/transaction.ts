import type { Clock } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import { encodeBatch, type ProducerIdentity } from '../batches/encode-batch.ts'
import type { Api } from './api.ts'
import type { Brokers, Target } from './brokers.ts'
import type { BatchPart } from './chunks.ts'
import { ProtocolError } from './errors.ts'
import { askPatiently, type Patience } from './patience.ts'
import { produceBatches } from './produce.ts'
import { produce, produceImplicitly } from './produce-api.ts'
import { Sequences } from './sequences.ts'
import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  type CommittedOffset,
  type CommittingMember,
  endTxn,
  endTxnImplicitly,
  type OffsetsRequest,
  type Owned,
  txnOffsetCommit,
  txnOffsetCommitImplicitly,
} from './transaction-apis.ts'

/** A producer between two transactions. */
export interface Epoch {
  identity: ProducerIdentity
  /** The sequence numbers of what the producer has written. */
  sequences: Sequences
  /** Whether brokers add to a transaction what is written in it, and every transaction is an epoch (KIP-890). */
  implicit: boolean
}

export interface TransactionOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh'>
  clock: Clock
  transactionalId: string
  groupId: string
  compression: Compression
  epoch: Epoch
  patience: Patience
}

/**
 * The most bytes of metadata in one request: brokers take no batch above their message.max.bytes, and write it as one.
 */
const offsetsBytes = 500_000
/** The bytes that an offset takes beside its metadata, with long names. */
const offsetBytes = 500

/** A coordinator that refuses so has done nothing, and will soon: it still ends the transaction before, or asks about this one. */
const passing = new Set(['CONCURRENT_TRANSACTIONS', 'COORDINATOR_LOAD_IN_PROGRESS'])
const mayPass = (error: unknown) => error instanceof ProtocolError && passing.has(error.type)

/** One transaction. All of a step are waited for, also when one fails: nothing may be on its way when the next one begins. */
export class Transaction {
  readonly #options: TransactionOptions
  readonly #owned: Owned

  constructor(options: TransactionOptions) {
    this.#options = options
    this.#owned = { ...options.epoch.identity, transactionalId: options.transactionalId }
  }

  /** Says what will be written, where brokers want to know before. */
  begin(parts: readonly BatchPart[], withOffsets: boolean): Promise<void> {
    if (this.#options.epoch.implicit) return Promise.resolve()
    const partitions = [...new Map(parts.map(part => [`${part.topic}/${part.partition}`, part])).values()]
    return this.#together([
      ...(partitions.length > 0 ? [this.#askOwn(addPartitionsToTxn, { ...this.#owned, partitions })] : []),
      ...(withOffsets ? [this.#askOwn(addOffsetsToTxn, { ...this.#owned, groupId: this.#options.groupId })] : []),
    ])
  }

  write(chunks: readonly BatchPart[][], offsets: readonly CommittedOffset[], member: CommittingMember): Promise<void> {
    return this.#together([this.#produce(chunks), this.#commitOffsets(offsets, member)])
  }

  /** @returns the producer for the next transaction */
  async end(committed: boolean): Promise<Epoch> {
    const { epoch } = this.#options
    if (!epoch.implicit) {
      await this.#askOwn(endTxn, { ...this.#owned, committed })
      return epoch
    }
    const { producerId, epoch: next } = await this.#askOwn(endTxnImplicitly, { ...this.#owned, committed })
    return { ...epoch, identity: { producerId, epoch: next }, sequences: new Sequences() }
  }

  async #produce(chunks: readonly BatchPart[][]): Promise<void> {
    const { brokers, epoch, transactionalId, patience } = this.#options
    const api = epoch.implicit ? produceImplicitly : produce
    for (const chunk of chunks) {
      const batches = chunk.map(part => this.#encode(part))
      const [unwritten] = await produceBatches(batches, { brokers, api, transactionalId, patience })
      if (unwritten) throw unwritten.error
    }
  }

  #encode({ topic, partition, records }: BatchPart) {
    const { epoch, compression, clock } = this.#options
    const sequence = epoch.sequences.take({ topic, partition }, records.length)
    const frame = { ...epoch.identity, sequence, transactional: true, compression, timestamp: clock.now() }
    return { topic, partition, bytes: encodeBatch(records, frame) }
  }

  async #commitOffsets(offsets: readonly CommittedOffset[], member: CommittingMember): Promise<void> {
    const { epoch, groupId } = this.#options
    const api: Api<OffsetsRequest, unknown> = epoch.implicit ? txnOffsetCommitImplicitly : txnOffsetCommit
    for (const some of inPieces(offsets)) {
      await this.#ask({ group: groupId }, api, { ...this.#owned, groupId, member, offsets: some })
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

  #askOwn<Q, A>(api: Api<Q, A>, request: Q): Promise<A> {
    return this.#ask({ transaction: this.#options.transactionalId }, api, request)
  }

  #ask<Q, A>(target: Target, api: Api<Q, A>, request: Q): Promise<A> {
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
