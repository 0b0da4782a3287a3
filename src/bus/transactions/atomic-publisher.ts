import { RetryBudget } from '../cluster/retry-budget.ts'
import type { OutgoingRecord, Publisher } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { Chunker } from '../write/chunks.ts'
import { initialiseProducer, type Producer } from '../write/producer.ts'
import { Transaction, type TransactionOptions } from './transaction.ts'

export interface AtomicPublisherOptions extends Omit<TransactionOptions, 'brokers' | 'producer'> {
  brokers: TransactionOptions['brokers'] & ConstructorParameters<typeof Chunker>[0]
  limits: RecordLimits
}

/**
 * Publishes each call in one transaction. It never takes its transactional id back: once another publisher has fenced it,
 * every call fails.
 */
export class AtomicPublisher implements Pick<Publisher, 'publish'> {
  readonly #options: AtomicPublisherOptions
  readonly #producer: Producer
  readonly #chunker: Chunker

  private constructor(options: AtomicPublisherOptions, producer: Producer) {
    this.#options = options
    this.#producer = producer
    this.#chunker = new Chunker(options.brokers, options.limits)
  }

  /** Fences the previous publisher of this transactional id, and aborts its open transaction. */
  static async open(options: AtomicPublisherOptions): Promise<AtomicPublisher> {
    const { brokers, transactionalId, clock } = options
    return new AtomicPublisher(options, await initialiseProducer(brokers, transactionalId, new RetryBudget(clock)))
  }

  /** @throws Error; the records may have been committed all the same, but never only some of them */
  publish(records: readonly OutgoingRecord[]): Promise<void> {
    return this.#options.limits.produce(records, async fitting => {
      const chunks = await this.#chunker.chunks(fitting)
      const transaction = new Transaction({ ...this.#options, producer: this.#producer })
      await transaction.run({ chunks, offsets: [], member: null }, true)
    })
  }
}
