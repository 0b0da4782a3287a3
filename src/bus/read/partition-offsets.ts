import { Told } from '../../told.ts'
import { isTransient, protocolError } from '../cluster/errors.ts'
import type { LogEnds } from '../driver.ts'
import { placeName } from '../partitions.ts'
import type { From, Isolation, TopicPartition } from '../port.ts'
import { RequestBatcher } from '../request-batcher.ts'
import { fetchRecords } from './fetch-api.ts'
import { endOf, logEndsAt, offsetAt } from './offsets.ts'
import {
  backOff,
  errorTypeOf,
  lastingMs,
  type ReadOptions,
  reportUnread,
  textOf,
  unknownPartition,
} from './read-back-off.ts'

/** A new topic does not reach all brokers at once. */
const startAttempts = 6

const hints: Record<string, string> = {
  [unknownPartition]: 'Create the topic, or correct its name or the number of the partition.',
  INVALID_TOPIC_EXCEPTION: 'Correct its name.',
  TOPIC_AUTHORIZATION_FAILED: 'Grant this client the rights Describe and Read on the topic.',
}

/** Looks up the ends of partitions' logs and the committed offsets of groups. */
export class PartitionOffsets {
  readonly #options: ReadOptions
  /** Batches requests per broker, so that a broker that does not answer delays no others. */
  readonly #endsAt = new Map<number, RequestBatcher<TopicPartition, LogEnds | Error>>()

  constructor(options: ReadOptions) {
    this.#options = options
  }

  /**
   * Finds where to begin. Fetches once, so that a missing right shows here; retries while brokers are down.
   * @throws Error when the partition does not exist, or the client may not read it
   */
  locate(tp: TopicPartition, from: From, isolation?: Isolation): Promise<number> {
    const { brokers } = this.#options
    return this.untilAnswered(tp, async () => {
      const offset = await offsetAt(brokers, tp, from, isolation)
      const request = { waitMs: 0, partitionBytes: 1, partitions: [{ tp, offset }] }
      const { partitions } = await brokers.ask({ leader: tp }, fetchRecords, [request])
      const [found] = partitions
      if (found?.errorCode) throw protocolError(found.errorCode)
      return offset
    })
  }

  /** The last stable offset, or the end including open transactions. Retries while brokers are down. */
  end(tp: TopicPartition, isolation: Isolation = 'committed'): Promise<number> {
    return this.untilAnswered(tp, () => endOf(this.#options.brokers, tp, isolation))
  }

  /** The log's ends; batched with other calls. @throws Error as the broker answers, when retries do not help */
  ends(tp: TopicPartition): Promise<LogEnds> {
    return this.#withNewMetadata(async () => {
      const ends = await this.#endsOf(await this.#options.brokers.leader(tp)).get(tp)
      if (ends instanceof Error) throw ends
      return ends
    })
  }

  #endsOf(node: number): RequestBatcher<TopicPartition, LogEnds | Error> {
    const batcher =
      this.#endsAt.get(node) ??
      new RequestBatcher<TopicPartition, LogEnds | Error>(tps => logEndsAt(this.#options.brokers, node, tps))
    this.#endsAt.set(node, batcher)
    return batcher
  }

  /**
   * The first offset with at least this timestamp (milliseconds since 1970), or the log's end.
   * @throws Error as the broker answers, when retries do not help
   */
  offsetAt(tp: TopicPartition, timestamp: number): Promise<number> {
    return this.#withNewMetadata(() => offsetAt(this.#options.brokers, tp, timestamp))
  }

  /** Retries until there is an answer. @throws Error for a permanent refusal */
  async untilAnswered<T>(tp: TopicPartition, ask: () => Promise<T>): Promise<T> {
    const { clock, closing } = this.#options
    const name = placeName(tp)
    let since: number | null = null
    const told = new Told()
    for (let attempt = 1; !closing.aborted; attempt++) {
      try {
        return await ask()
      } catch (error) {
        const hint = hints[errorTypeOf(error)]
        if (hint && attempt >= startAttempts) {
          throw new Error(`${name} cannot be read: ${textOf(error)}. ${hint}`, { cause: error })
        }
        since ??= clock.monotonic()
        const isOverSoon = hint !== undefined || (isTransient(error, 'leader') && clock.monotonic() - since < lastingMs)
        if (!isOverSoon && told.isNew(textOf(error))) reportUnread(this.#options, name, textOf(error))
        await backOff(this.#options, attempt)
      }
    }
    throw new Error('the bus is closed')
  }

  /** Retries once with new metadata, since the known one may lack a new partition; longer while a leader is being elected. */
  async #withNewMetadata<T>(ask: () => Promise<T>): Promise<T> {
    const { brokers, clock, closing } = this.#options
    const begun = clock.monotonic()
    for (let failures = 0; ; failures++) {
      try {
        return await ask()
      } catch (error) {
        if (failures === 0) await brokers.refresh()
        else if (closing.aborted || !isTransient(error, 'leader') || clock.monotonic() - begun > lastingMs) throw error
        else await backOff(this.#options, failures)
      }
    }
  }
}
