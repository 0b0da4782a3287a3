import type { Clock } from '../../clock.ts'
import type { Compression } from '../batches/codecs.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { reachable } from '../cluster/errors.ts'
import { RetryBudget } from '../cluster/retry-budget.ts'
import type { OutgoingRecord, Publisher } from '../port.ts'
import type { RecordLimits } from '../record-limits.ts'
import { type BatchPart, Chunker } from './chunks.ts'
import { produceBatches } from './produce.ts'
import { initialiseProducer, type Producer } from './producer.ts'

export interface IdempotentPublisherOptions {
  brokers: Pick<Brokers, 'ask' | 'leader' | 'refresh' | 'partitions'>
  clock: Clock
  compression: Compression
  limits: RecordLimits
}

/** Most records of one round; the records of one call stay together. */
const roundRecords = 5000

interface Waiting extends PromiseWithResolvers<void> {
  records: readonly OutgoingRecord[]
}

/**
 * Publishes outside of transactions. One round is in flight at a time, with everything that was published before it began;
 * this keeps the order and limits each leader to one request. After a failure, the producer's sequence numbers may differ
 * from the brokers', so the next round initialises a new producer.
 */
export class IdempotentPublisher implements Publisher {
  readonly #options: IdempotentPublisherOptions
  readonly #chunker: Chunker
  #producer: Producer | null = null
  #waiting: Waiting[] = []
  #rounds: Promise<void> | null = null
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
    await this.#options.limits.produce(records, fitting => this.#enqueue(fitting))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#rounds
  }

  #enqueue(records: readonly OutgoingRecord[]): Promise<void> {
    const waiting = { records, ...Promise.withResolvers<void>() }
    this.#waiting.push(waiting)
    this.#rounds ??= this.#run()
    return waiting.promise
  }

  async #run(): Promise<void> {
    await Promise.resolve() // batches what is published in the same tick
    while (this.#waiting.length > 0) await this.#round(await this.#withTopics(this.#nextRound()))
    this.#rounds = null
  }

  #nextRound(): Waiting[] {
    let count = 0
    const rest = this.#waiting.findIndex(({ records }, i) => {
      count += records.length
      return i > 0 && count > roundRecords
    })
    return this.#waiting.splice(0, rest < 0 ? this.#waiting.length : rest)
  }

  /** Removes calls with an unknown topic from the round and rejects them, so that they do not fail the others. */
  async #withTopics(round: readonly Waiting[]): Promise<Waiting[]> {
    const looks = await Promise.allSettled(round.map(({ records }) => this.#chunker.partitionCounts(records)))
    for (const [i, look] of looks.entries()) if (look.status === 'rejected') round[i]!.reject(look.reason)
    return round.filter((_, i) => looks[i]!.status === 'fulfilled')
  }

  async #round(round: readonly Waiting[]): Promise<void> {
    const failures = new Map<OutgoingRecord, Error>()
    const all = round.flatMap(({ records }) => records)
    try {
      for (const chunk of await this.#chunker.chunks(all)) await this.#send(chunk, failures)
    } catch (error) {
      for (const { reject } of round) reject(error)
      return
    }
    for (const { records, resolve, reject } of round) {
      const failed = records.find(record => failures.has(record))
      if (failed) reject(failures.get(failed))
      else resolve()
    }
  }

  async #send(chunk: readonly BatchPart[], failures: Map<OutgoingRecord, Error>): Promise<void> {
    const { brokers, clock, compression } = this.#options
    const retries = new RetryBudget(clock)
    this.#producer ??= await this.#initialise(retries)
    const batches = this.#producer.encode(chunk, { transactional: false, compression, timestamp: clock.now() })
    const unwritten = await produceBatches(batches, { brokers, transactionalId: null, retries })
    if (unwritten.length > 0) this.#producer = null
    for (const { batch, error } of unwritten) for (const record of batch.records) failures.set(record, error)
  }

  #initialise(retries: RetryBudget): Promise<Producer> {
    return initialiseProducer(this.#options.brokers, null, retries)
  }
}
