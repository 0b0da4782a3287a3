import type { Clock } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import type { Brokers } from '../cluster/brokers.ts'
import type { Line } from '../cluster/channels.ts'
import { reachable } from '../cluster/errors.ts'
import { RetryBudget } from '../cluster/retry-budget.ts'
import type { OutgoingRecord, Publisher } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { RequestBatcher } from '../request-batcher.ts'
import { type BatchPart, Chunker, tellPlaces } from './chunks.ts'
import { produceBatches } from './produce.ts'
import { initialiseProducer, type Producer } from './producer.ts'

export interface IdempotentPublisherOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh' | 'partitions'>
  clock: Clock
  compression: Compression
  limits: RecordLimits
  /** Default: commit. */
  line?: Line | undefined
}

/**
 * Publishes outside of transactions. One round is in flight at a time, with everything that was published before it began;
 * this keeps the order and limits each leader to one request. After a failure, the producer's sequence numbers may differ
 * from the brokers', so the next round initialises a new producer.
 */
export class IdempotentPublisher implements Publisher {
  readonly #options: IdempotentPublisherOptions
  readonly #chunker: Chunker
  readonly #rounds = new RequestBatcher<readonly OutgoingRecord[], Error | undefined>(calls => this.#round(calls))
  #producer: Producer | null = null
  #closed = false

  constructor(options: IdempotentPublisherOptions) {
    this.#options = options
    this.#chunker = new Chunker(options.brokers, options.limits)
  }

  async connect(): Promise<void> {
    this.#producer ??= await reachable(this.#initialise(new RetryBudget(this.#options.clock)))
  }

  async publish(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#closed) throw new Error('the publisher is closed: nothing was published')
    const published = this.#options.limits.produce(records, async fitting => {
      const error = await this.#rounds.get(fitting)
      if (error) throw error
    })
    await reachable(published)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#rounds.get([]).catch(() => {}) // its round comes after those of earlier calls, which get its error
  }

  /** @returns for each call, why its records were perhaps not written. A call with an unknown topic does not fail the others */
  async #round(calls: readonly (readonly OutgoingRecord[])[]): Promise<(Error | undefined)[]> {
    const looks = await Promise.allSettled(calls.map(records => this.#chunker.partitionCounts(records)))
    const known = calls.flatMap((records, i) => (looks[i]!.status === 'fulfilled' ? records : []))
    const failures = new Map<OutgoingRecord, Error>()
    for (const chunk of await this.#chunker.chunks(known)) await this.#send(chunk, failures)
    return calls.map((records, i) => {
      const look = looks[i]!
      if (look.status === 'rejected') return look.reason
      return records.map(record => failures.get(record)).find(error => error !== undefined)
    })
  }

  async #send(chunk: readonly BatchPart[], failures: Map<OutgoingRecord, Error>): Promise<void> {
    const { brokers, clock, compression, line } = this.#options
    const retries = new RetryBudget(clock)
    this.#producer ??= await this.#initialise(retries)
    const batches = this.#producer.encode(chunk, { transactional: false, compression, timestamp: clock.now() })
    const unwritten = await produceBatches(batches, {
      brokers,
      transactionalId: null,
      line,
      retries,
      written: tellPlaces,
    })
    if (unwritten.length > 0) this.#producer = null
    for (const { batch, error } of unwritten) for (const record of batch.records) failures.set(record, error)
  }

  #initialise(retries: RetryBudget): Promise<Producer> {
    return initialiseProducer(this.#options.brokers, null, retries, this.#options.line)
  }
}
