import type { Mark } from '../batches/record-batch.ts'
import { ProtocolError } from '../cluster/errors.ts'
import { PartitionMap } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'
import { committedIn, type Fetch, type Fetched, type FetchLimits, type Position, termsOf } from './fetch.ts'
import type { FetchAnswer } from './fetch-api.ts'
import type { Reading } from './reading.ts'

/** A reading, and how it was asked for. */
export interface PlacedReading {
  readonly reading: Reading
  /** The source that it was asked for last; null: none was. What an earlier one has to say is too late. */
  askedOf: unknown
  /** The life that the reading had then; null: it was not asked for yet. */
  life: number | null
  mark: Mark
}

/** Where a partition is read at a source, and by whom. */
class Place<R extends PlacedReading> implements Position {
  readonly tp: TopicPartition
  offset = 0
  mark?: Mark
  /** Whoever is ready for records, in the order of their turns. */
  readonly readers = new Set<R>()
  /** Readers that the last fetch was for: those at one offset share it. */
  asked: readonly R[] = []
  /** The offset that the broker was asked for last; null: it knows of none. */
  known: number | null = null
  /** The end of the log that the broker told last; null: none yet, for one that throttles answers nothing. */
  highWatermark: number | null = null
  /** Whether the broker told something when memory had no room for it. */
  isPassedOver = false

  constructor(tp: TopicPartition) {
    this.tp = tp
  }
}

const firstEpoch = 0
const lastEpoch = 2 ** 31 - 1
/** The broker has forgotten the session: it keeps those of so many clients, and none over a restart. */
const forgotten = ['FETCH_SESSION_ID_NOT_FOUND', 'INVALID_FETCH_SESSION_EPOCH', 'FETCH_SESSION_TOPIC_ID_ERROR']

/**
 * A broker that partitions are read from, one fetch at a time. It remembers what it was asked for (KIP-227): a fetch names
 * the partitions that changed since the last one, and the answer those that have something new. What stays as it was costs
 * nothing, however many partitions there are. A broker that keeps no session is asked for all of it each time.
 */
export class Source<R extends PlacedReading> {
  readonly #ask: Fetch
  /** The first epoch asks for a new session, in place of the one that is named. */
  #session = { id: 0, epoch: firstEpoch }
  readonly #places = new PartitionMap<Place<R>>()
  /** All that is asked for; what moved last comes last, for a broker fills its answer in the order of the request. */
  readonly #order = new Set<Place<R>>()
  /** Places whose readers have changed since the last fetch began. */
  #changed = new Set<Place<R>>()
  /** Places that the broker may know another offset of. */
  readonly #moved = new Set<Place<R>>()
  /** The broker was asked for these, which nobody reads any more. */
  readonly #left = new PartitionMap<Place<R>>()
  #ready = 0
  /** Whether memory had no room for something that the broker told. It comes first in the next answer. */
  hasPassedOver = false
  /** Whether a fetch is under way. */
  isAsked = false
  /** The next fetch begins no sooner, unless it is hurried, in monotonic milliseconds. */
  restsUntil = 0
  /** Whether a reading that has more at its broker is ready for it since the last fetch began. */
  isHurried = false
  /** When the last fetch was answered, in monotonic milliseconds. */
  answeredAt = 0

  constructor(ask: Fetch) {
    this.#ask = ask
  }

  /** Tells whether anybody is ready for records. */
  get isWanted(): boolean {
    return this.#ready > 0
  }

  /** Whoever the last fetch was for. */
  get asked(): R[] {
    return [...this.#places].flatMap(place => this.askedAt(place))
  }

  /** Whoever the last fetch was for at the place, those left out that another source was asked for since. */
  askedAt({ asked }: Place<R>): R[] {
    return asked.filter(({ askedOf }) => askedOf === this)
  }

  /** The reader is ready for what comes from its offset on; one that moved is told again. */
  want(reader: R): void {
    const { tp } = reader.reading
    const place = this.#places.get(tp) ?? this.#left.get(tp) ?? new Place<R>(tp)
    this.#left.delete(tp)
    this.#places.set(tp, place)
    this.#changed.add(place)
    if (place.readers.has(reader)) return
    place.readers.add(reader)
    this.#ready++
  }

  /** The reader takes nothing of the next fetches. What is under way may still be for it. */
  leave(reader: R): void {
    const place = this.#places.get(reader.reading.tp)
    if (!place?.readers.delete(reader)) return
    this.#changed.add(place)
    this.#ready--
  }

  /**
   * Settles what the next fetch asks for. Readers of one partition share it if they are at one offset; the others wait for
   * the fetch after it.
   * @returns whether some have to wait
   */
  begin(): boolean {
    const contested = new Set<Place<R>>()
    for (const place of this.#changed) {
      const { readers } = place
      const [first] = readers
      if (!first) {
        this.#drop(place)
        continue
      }
      this.#move(place, first.reading.offset)
      place.mark = first.mark
      place.asked = [...readers].filter(({ reading }) => reading.offset === place.offset)
      for (const reader of place.asked) {
        reader.askedOf = this
        reader.life = reader.reading.life
      }
      if (place.asked.length === readers.size) continue
      contested.add(place)
      for (const reader of place.asked) {
        readers.delete(reader)
        readers.add(reader) // the others come first in the next fetch
      }
    }
    this.#changed = contested
    return contested.size > 0
  }

  /** @returns what there is of places that have something new */
  async fetch(limits: FetchLimits): Promise<Map<Place<R>, Fetched>> {
    const { partitions } = await this.#askOf(limits)
    const answers = partitions.flatMap(found => {
      const position = this.#places.get(found)
      if (position && !found.errorCode) position.highWatermark = found.highWatermark
      return position ? { position, found } : []
    })
    if (this.hasPassedOver) answers.sort((a, b) => turnOf(a.position) - turnOf(b.position))
    const fetched = await committedIn(answers, this.#ask, limits)
    for (const { position } of answers) position.isPassedOver = !fetched.has(position)
    if (this.hasPassedOver || fetched.size < answers.length) {
      this.hasPassedOver = [...this.#order].some(({ isPassedOver }) => isPassedOver)
    }
    return fetched
  }

  /** Where the last fetch asked for records for the reader; null: it did not. */
  placeOf(reader: R): Place<R> | null {
    const place = this.#places.get(reader.reading.tp)
    return reader.askedOf === this && place?.asked.includes(reader) ? place : null
  }

  #drop(place: Place<R>): void {
    place.asked = []
    place.isPassedOver = false
    this.#places.delete(place.tp)
    this.#order.delete(place)
    this.#moved.delete(place)
    if (place.known !== null) this.#left.set(place.tp, place)
  }

  #move(place: Place<R>, offset: number): void {
    if (this.#order.has(place) && place.offset === offset) return
    place.offset = offset
    this.#moved.add(place)
    this.#order.delete(place)
    this.#order.add(place)
  }

  async #askOf(limits: FetchLimits): Promise<FetchAnswer> {
    try {
      return await this.#askInSession(limits)
    } catch (error) {
      this.#session.epoch = firstEpoch
      if (!(error instanceof ProtocolError && forgotten.includes(error.type))) throw error
      return this.#askInSession(limits)
    }
  }

  async #askInSession(limits: FetchLimits): Promise<FetchAnswer> {
    const { id, epoch } = this.#session
    if (epoch === firstEpoch) this.#beginAnew()
    const moved = [...this.#moved].filter(({ known, offset }) => known !== offset)
    const partitions = moved.map(({ tp, offset }) => ({ tp, offset }))
    const left = [...this.#left].map(({ tp }) => tp)
    for (const place of moved) place.known = place.offset
    this.#moved.clear()
    this.#left.clear()
    const answer = await this.#ask({ ...termsOf(limits), partitions, session: { id, epoch, left } })
    const next = epoch === lastEpoch ? firstEpoch + 1 : epoch + 1
    this.#session = { id: answer.session, epoch: answer.session === 0 ? firstEpoch : next }
    return answer
  }

  /** The broker knows of nothing that is asked for. */
  #beginAnew(): void {
    this.#left.clear()
    for (const place of this.#order) {
      place.known = null
      place.highWatermark = null
      this.#moved.add(place)
    }
  }
}

const turnOf = ({ isPassedOver }: { isPassedOver: boolean }) => (isPassedOver ? 0 : 1)
