import type { Clock } from '../../clock.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Brokers } from '../cluster/brokers.ts'
import { committedOffsets, type GroupProgress } from '../cluster/committed-offsets.ts'
import { passes } from '../cluster/errors.ts'
import { Gathered } from '../gathered.ts'
import type { From, TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import { fetchCommitted } from './fetch.ts'
import { fetchRecords } from './fetch-api.ts'
import { endOf, firstOffset, logEndsAt, offsetAt, stableEndOf } from './offsets.ts'
import { errorTypeOf, lastingMs, ReadingTrouble, textOf, unknownPartition } from './reading-trouble.ts'

export interface PartitionOffsetsOptions {
  brokers: Brokers
  clock: Clock
  telemetry: Telemetry
}

/** A new topic is not known to all brokers at once. */
const startAttempts = 6

const hints: Record<string, string> = {
  [unknownPartition]: 'Create the topic, or correct its name or the number of the partition.',
  INVALID_TOPIC_EXCEPTION: 'Correct its name.',
  TOPIC_AUTHORIZATION_FAILED: 'Grant this client the rights Describe and Read on the topic.',
}

const closedText = 'the bus is closed'

/** Answers where the logs of partitions begin and end, and how far groups have come. */
export class PartitionOffsets {
  readonly #options: PartitionOffsetsOptions
  readonly #trouble: ReadingTrouble
  /** Each broker is asked about its own logs: one that does not answer holds up no others. */
  readonly #endsAt = new Map<number, Gathered<TopicPartition, LogEnds | Error>>()

  constructor(options: PartitionOffsetsOptions) {
    this.#options = options
    this.#trouble = new ReadingTrouble(options)
  }

  /**
   * Tells where to begin. Fetches once, so that a missing right shows here; brokers that are away are waited for.
   * @throws Error when there is no such partition, or no right to read it
   */
  locate(tp: TopicPartition, from: From): Promise<number> {
    const { brokers } = this.#options
    return this.patiently(tp, async () => {
      const position = { tp, offset: await offsetAt(brokers, tp, from) }
      const answers = await fetchCommitted(
        request => brokers.ask({ leader: tp }, fetchRecords, [request]),
        [position],
        {
          waitMs: 0,
          bytesPerPartition: 1,
          roomPerPartition: 1,
        },
      )
      const answer = answers.get(position)
      if (answer && !answer.ok) throw answer.error
      return position.offset
    })
  }

  /** The end of what may be read now, or of what is written; brokers that are away are waited for. */
  end(tp: TopicPartition, behindOpen?: 'behind open transactions'): Promise<number> {
    const end = behindOpen ? endOf : stableEndOf
    return this.patiently(tp, () => end(this.#options.brokers, tp))
  }

  /** Asks together with others that are asked about now. @throws Error as the broker answers, when that lasts */
  ends(tp: TopicPartition): Promise<LogEnds> {
    return this.#afresh(async () => {
      const ends = await this.#endsOf(await this.#options.brokers.leader(tp)).get(tp)
      if (ends instanceof Error) throw ends
      return ends
    })
  }

  #endsOf(node: number): Gathered<TopicPartition, LogEnds | Error> {
    const gathered =
      this.#endsAt.get(node) ??
      new Gathered<TopicPartition, LogEnds | Error>(tps => logEndsAt(this.#options.brokers, node, tps))
    this.#endsAt.set(node, gathered)
    return gathered
  }

  /** The group's progress as of a moment after this call. Asks once. @throws Error as the coordinator answers */
  committed(groupId: string, tps: readonly TopicPartition[]): Promise<GroupProgress[]> {
    return committedOffsets(this.#options.brokers, groupId, tps)
  }

  /**
   * The first offset of a record of at least this time (milliseconds since 1970), or the log's end.
   * @throws Error as the broker answers, when that lasts
   */
  offsetAt(tp: TopicPartition, timestamp: number): Promise<number> {
    return this.#afresh(() => firstOffset(this.#options.brokers, tp, timestamp))
  }

  close(): void {
    this.#trouble.close()
  }

  /** Asks until there is an answer. @throws Error when it is a refusal that lasts */
  async patiently<T>({ topic, partition }: TopicPartition, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.#options
    const name = `${topic}/${partition}`
    let since: number | null = null
    let told = ''
    for (let attempt = 1; !this.#trouble.closed; attempt++) {
      try {
        return await ask()
      } catch (error) {
        const hint = hints[errorTypeOf(error)]
        if (hint && attempt >= startAttempts) {
          throw new Error(`${name} cannot be read: ${textOf(error)}. ${hint}`, { cause: error })
        }
        since ??= clock.monotonic()
        const isOverSoon = hint !== undefined || (passes(error, 'leader') && clock.monotonic() - since < lastingMs)
        if (!isOverSoon && told !== textOf(error)) {
          told = textOf(error)
          this.#trouble.tell(name, told)
        }
        await this.#trouble.rest(attempt)
      }
    }
    throw new Error(closedText)
  }

  /** Metadata of before may not know a partition that was added; a leader that is being elected is waited for. */
  async #afresh<T>(ask: () => Promise<T>): Promise<T> {
    const { brokers, clock } = this.#options
    const begun = clock.monotonic()
    for (let failures = 0; ; failures++) {
      try {
        return await ask()
      } catch (error) {
        if (failures === 0) await brokers.refresh()
        else if (this.#trouble.closed || !passes(error, 'leader') || clock.monotonic() - begun > lastingMs) throw error
        else await this.#trouble.rest(failures)
      }
    }
  }
}
