import { PartitionMap } from '../partition-map.ts'
import type { TopicPartition } from '../port.ts'
import { ProtocolError } from './errors.ts'
import type { FetchAnswer, FetchRequest } from './fetch-api.ts'

const firstEpoch = 0
const lastEpoch = 2 ** 31 - 1
/** The broker has forgotten the session: it keeps those of so many clients, and none over a restart. */
const forgotten = ['FETCH_SESSION_ID_NOT_FOUND', 'INVALID_FETCH_SESSION_EPOCH', 'FETCH_SESSION_TOPIC_ID_ERROR']

interface SessionPartition {
  tp: TopicPartition
  offset: number
  /** The offset that the broker was asked for last; null: none. */
  asked: number | null
  /** The end of the log that the broker told last. */
  highWatermark: number | null
}

/** How to fetch, whatever is wanted. */
export type FetchTerms = Omit<FetchRequest, 'partitions' | 'session'>

/**
 * One client's fetches from one broker, which remembers what it was asked for (KIP-227): a fetch names the partitions that
 * changed since the last one, and the answer those that have something new. What stays as it was costs nothing, however
 * much it is. Brokers of before Kafka 1.1 are asked for all of it each time, and so is one that has no room for a session.
 */
export class FetchSession {
  readonly #ask: (request: FetchRequest) => Promise<FetchAnswer>
  /** The first epoch asks for a new session, in place of the one that is named. */
  #session = { id: 0, epoch: firstEpoch }
  readonly #wanted = new PartitionMap<SessionPartition>()
  /** All that is wanted; what moved last comes last, for a broker fills its answer in the order of the request. */
  readonly #order = new Set<SessionPartition>()
  /** These may be wanted from another offset than the broker was asked for. */
  readonly #changed = new Set<SessionPartition>()
  /** The broker was asked for these, and they are wanted no more. */
  readonly #left = new PartitionMap<SessionPartition>()

  /** @param ask throws ProtocolError for a code at the top of the answer */
  constructor(ask: (request: FetchRequest) => Promise<FetchAnswer>) {
    this.#ask = ask
  }

  /** The partition is part of each fetch from now on, from this offset. */
  want(tp: TopicPartition, offset: number): void {
    const wanted = this.#wanted.get(tp) ?? this.#left.get(tp) ?? { tp, offset, asked: null, highWatermark: null }
    if (this.#order.has(wanted) && wanted.offset === offset) return
    wanted.offset = offset
    this.#left.delete(tp)
    this.#wanted.set(tp, wanted)
    this.#changed.add(wanted)
    this.#order.delete(wanted)
    this.#order.add(wanted)
  }

  /** The partition is part of no fetch from now on. */
  leave(tp: TopicPartition): void {
    const wanted = this.#wanted.get(tp)
    if (!wanted) return
    this.#wanted.delete(tp)
    this.#order.delete(wanted)
    this.#changed.delete(wanted)
    if (wanted.asked !== null) this.#left.set(tp, wanted)
  }

  /** One at a time. @returns what is new of the partitions that are wanted; of one that it says nothing of, nothing is */
  async fetch(terms: FetchTerms): Promise<FetchAnswer> {
    try {
      return await this.#fetch(terms)
    } catch (error) {
      this.#session.epoch = firstEpoch
      if (!(error instanceof ProtocolError && forgotten.includes(error.type))) throw error
      return this.#fetch(terms)
    }
  }

  /** The end of the log that the broker told last; null: none yet, for one that throttles answers nothing. */
  highWatermark(tp: TopicPartition): number | null {
    return this.#wanted.get(tp)?.highWatermark ?? null
  }

  async #fetch(terms: FetchTerms): Promise<FetchAnswer> {
    const { id, epoch } = this.#session
    if (epoch === firstEpoch) this.#beginAnew()
    const partitions = [...this.#changed].flatMap(({ tp, offset, asked }) => (asked === offset ? [] : { tp, offset }))
    const left = [...this.#left].map(({ tp }) => tp)
    for (const wanted of this.#changed) wanted.asked = wanted.offset
    this.#changed.clear()
    this.#left.clear()
    const answer = await this.#ask({ ...terms, partitions, session: { id, epoch, left } })
    for (const one of answer.partitions) {
      const wanted = this.#wanted.get(one)
      if (wanted && !one.errorCode) wanted.highWatermark = one.highWatermark
    }
    const next = epoch === lastEpoch ? firstEpoch + 1 : epoch + 1
    this.#session = { id: answer.session, epoch: answer.session === 0 ? firstEpoch : next }
    return answer
  }

  /** The broker knows of nothing that is wanted. */
  #beginAnew(): void {
    this.#left.clear()
    this.#changed.clear()
    for (const wanted of this.#order) {
      wanted.asked = null
      wanted.highWatermark = null
      this.#changed.add(wanted)
    }
  }
}
