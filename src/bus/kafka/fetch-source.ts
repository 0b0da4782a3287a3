import type { Mark } from '../batches/record-batch.ts'
import { PartitionMap } from '../partition-map.ts'
import type { TopicPartition } from '../port.ts'
import { FetchSession } from '../wire/fetch-session.ts'
import { committedIn, type Fetch, type Fetched, type FetchLimits, type Position, termsOf } from './fetch.ts'
import type { Reading } from './reading.ts'

/** PlacedReading is a reading, and how it was asked for. */
export interface PlacedReading {
  readonly reading: Reading
  /** The source that it was asked for last; null: none was. What an earlier one has to say is too late. */
  askedOf: unknown
  /** The life that the reading had then; null: it was not asked for yet. */
  life: number | null
  mark: Mark
}

/** Place is where a partition is read at a source, and by whom. */
class Place<R extends PlacedReading> implements Position {
  readonly tp: TopicPartition
  offset = 0
  mark?: Mark
  /** Whoever is ready for records, in the order of their turns. */
  readonly readers = new Set<R>()
  /** Readers that the last fetch was for: those at one offset share it. */
  asked: readonly R[] = []

  constructor(tp: TopicPartition) {
    this.tp = tp
  }
}

/**
 * A broker that partitions are read from, one fetch at a time. What a fetch asks for stays asked for until it changes, for
 * at a trickle there are a hundred fetches a second, over as many partitions as there are.
 */
export class Source<R extends PlacedReading> {
  readonly #session: FetchSession
  /** Asks without being remembered. */
  readonly #alone: Fetch
  readonly #places = new PartitionMap<Place<R>>()
  /** Places that the next fetch has to look at. */
  #changed = new Set<Place<R>>()
  /** Places of which the broker told something when memory had no room for it. They come first in the next answer. */
  readonly #passedOver = new Set<Place<R>>()
  #ready = 0
  /** Whether a fetch is under way. */
  isAsked = false
  /** The next fetch begins no sooner, unless it is hurried, in monotonic milliseconds. */
  restsUntil = 0
  /** Whether a reading that has more at its broker is ready for it since the last fetch began. */
  isHurried = false
  /** When the last fetch was answered, in monotonic milliseconds. */
  answeredAt = 0

  constructor(ask: Fetch) {
    this.#alone = ask
    this.#session = new FetchSession(ask)
  }

  /** Tells whether anybody is ready for records. */
  get isWanted(): boolean {
    return this.#ready > 0
  }

  /** Tells whether memory had no room for something that the broker told. */
  get hasPassedOver(): boolean {
    return this.#passedOver.size > 0
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
    const place = this.#places.get(tp) ?? new Place<R>(tp)
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
      const { tp, readers } = place
      const [first] = readers
      if (!first) {
        place.asked = []
        this.#places.delete(tp)
        this.#passedOver.delete(place)
        this.#session.leave(tp)
        continue
      }
      place.offset = first.reading.offset
      place.mark = first.mark
      place.asked = [...readers].filter(({ reading }) => reading.offset === place.offset)
      for (const reader of place.asked) {
        reader.askedOf = this
        reader.life = reader.reading.life
      }
      this.#session.want(tp, place.offset)
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
    const { partitions } = await this.#session.fetch(termsOf(limits))
    const answers = partitions.flatMap(found => {
      const position = this.#places.get(found)
      return position ? { position, found } : []
    })
    if (this.#passedOver.size > 0) answers.sort((a, b) => this.#turnOf(a.position) - this.#turnOf(b.position))
    const fetched = await committedIn(answers, this.#alone, limits)
    for (const { position } of answers) {
      if (fetched.has(position)) this.#passedOver.delete(position)
      else this.#passedOver.add(position)
    }
    return fetched
  }

  #turnOf(place: Place<R>): number {
    return this.#passedOver.has(place) ? 0 : 1
  }

  /** Where the last fetch asked for records for the reader, and where the broker said that the log ends; null: it did not. */
  placeOf(reader: R): { place: Place<R>; highWatermark: number | null } | null {
    const { tp } = reader.reading
    const place = this.#places.get(tp)
    if (reader.askedOf !== this || !place?.asked.includes(reader)) return null
    return { place, highWatermark: this.#session.highWatermark(tp) }
  }
}
