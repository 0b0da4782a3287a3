import { PartitionMap } from '../partition-map.ts'
import type { TopicPartition } from '../port.ts'
import { ProtocolError } from './errors.ts'
import type { FetchAnswer, FetchRequest } from './fetch-api.ts'

const firstEpoch = 0
const lastEpoch = 2 ** 31 - 1
/** The broker has forgotten the session: it keeps those of so many clients, and none over a restart. */
const forgotten = ['FETCH_SESSION_ID_NOT_FOUND', 'INVALID_FETCH_SESSION_EPOCH', 'FETCH_SESSION_TOPIC_ID_ERROR']

/** Known is what the broker was asked for last of a partition, and the end of the log that it told last. */
interface Known {
  tp: TopicPartition
  offset: number
  highWatermark: number | null
  /** The number of the last fetch that it was wanted in. */
  wantedIn: number
}

/**
 * One client's fetches from one broker, which remembers what it was asked for (KIP-227): a fetch names the partitions that
 * changed since the last one, and the answer those that have something new. Brokers of before Kafka 1.1 are asked for all
 * of it each time, and so is one that has no room for a session.
 */
export class FetchSession {
  readonly #ask: (request: FetchRequest) => Promise<FetchAnswer>
  /** The first epoch asks for a new session, in place of the one that is named. */
  #session = { id: 0, epoch: firstEpoch }
  readonly #known = new PartitionMap<Known>()
  #fetches = 0

  /** @param ask throws ProtocolError for a code at the top of the answer */
  constructor(ask: (request: FetchRequest) => Promise<FetchAnswer>) {
    this.#ask = ask
  }

  /** One at a time. @returns what is new of the partitions; of one that it says nothing of, nothing is */
  async fetch(request: FetchRequest): Promise<FetchAnswer> {
    try {
      return await this.#fetch(request)
    } catch (error) {
      this.#session.epoch = firstEpoch
      if (!(error instanceof ProtocolError && forgotten.includes(error.type))) throw error
      return this.#fetch(request)
    }
  }

  /** The end of the log that the broker told last; null: none yet, for one that throttles answers nothing. */
  highWatermark(tp: TopicPartition): number | null {
    return this.#known.get(tp)?.highWatermark ?? null
  }

  async #fetch(request: FetchRequest): Promise<FetchAnswer> {
    const { id, epoch } = this.#session
    if (epoch === firstEpoch) this.#known.clear()
    this.#fetches++
    const partitions = request.partitions.filter(asked => this.#isChanged(asked))
    const answer = await this.#ask({ ...request, partitions, session: { id, epoch, left: this.#left(request) } })
    for (const one of answer.partitions) {
      const known = this.#known.get(one)
      if (known && !one.errorCode) known.highWatermark = one.highWatermark
    }
    const next = epoch === lastEpoch ? firstEpoch + 1 : epoch + 1
    this.#session = { id: answer.session, epoch: answer.session === 0 ? firstEpoch : next }
    return answer
  }

  #isChanged({ tp, offset }: FetchRequest['partitions'][number]): boolean {
    const known = this.#known.get(tp)
    if (!known) {
      this.#known.set(tp, { tp, offset, highWatermark: null, wantedIn: this.#fetches })
      return true
    }
    const isMoved = known.offset !== offset
    known.offset = offset
    known.wantedIn = this.#fetches
    return isMoved
  }

  /** Tells which partitions are wanted no more. */
  #left({ partitions }: FetchRequest): TopicPartition[] {
    if (this.#known.size === partitions.length) return []
    const left = [...this.#known].flatMap(({ tp, wantedIn }) => (wantedIn < this.#fetches ? tp : []))
    for (const tp of left) this.#known.delete(tp)
    return left
  }
}
