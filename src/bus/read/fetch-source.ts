import type { Mark } from '../batches/record-batch.ts'
import { PartitionMap } from '../partitions.ts'
import { committedIn, type Fetch, type Fetched, type FetchLimits, type Position, termsOf } from './fetch.ts'
import type { FetchedPartition } from './fetch-api.ts'
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

/** Where a fetch reads a partition, and for whom: readings at one offset share it. */
interface Place<R> extends Position {
  readonly asked: R[]
}

/** A broker that partitions are read from, one fetch at a time. */
export class Source<R extends PlacedReading> {
  readonly #ask: Fetch
  /**
   * Whoever is ready for records. Those that were given some last come last: a broker fills its answer in the order of the
   * request.
   */
  readonly #ready = new Set<R>()
  /** What the last fetch asked for. */
  #places: readonly Place<R>[] = []
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
    return this.#ready.size > 0
  }

  /** Whoever the last fetch was for. */
  get asked(): R[] {
    return this.#places.flatMap(place => this.askedAt(place))
  }

  /** Whoever the last fetch was for at the place, those left out that another source was asked for since. */
  askedAt({ asked }: Place<R>): R[] {
    return asked.filter(({ askedOf }) => askedOf === this)
  }

  /** The reader is ready for what comes from its offset on. */
  want(reader: R): void {
    this.#ready.add(reader)
  }

  /** The reader takes nothing of the next fetches. What is under way may still be for it. */
  leave(reader: R): void {
    this.#ready.delete(reader)
  }

  /**
   * Settles what the next fetch asks for. Readers of one partition share it if they are at one offset; the others wait for
   * the fetch after it.
   * @returns whether some have to wait
   */
  begin(): boolean {
    const places = new PartitionMap<Place<R>>()
    const contested = new Set<Place<R>>()
    for (const reader of this.#ready) {
      const { tp, offset, life } = reader.reading
      const place = places.get(tp) ?? { tp, offset, mark: reader.mark, asked: [] }
      places.set(tp, place)
      if (place.offset !== offset) {
        contested.add(place)
        continue
      }
      place.asked.push(reader)
      reader.askedOf = this
      reader.life = life
    }
    this.#places = [...places]
    for (const place of contested) this.#putLast(place)
    return contested.size > 0
  }

  /** @returns what there is of each place; some are left out when others fill the memory */
  async fetch(limits: FetchLimits): Promise<Map<Place<R>, Fetched>> {
    const partitions = new PartitionMap<FetchedPartition>()
    const request = { ...termsOf(limits), partitions: this.#places }
    for (const found of await this.#ask(request)) partitions.set(found, found)
    const answers = this.#places.flatMap(position => {
      const found = partitions.get(position.tp)
      return found ? { position, found } : []
    })
    const fetched = await committedIn(answers, this.#ask, limits)
    for (const [place, answer] of fetched) if (answer.ok && answer.records.length > 0) this.#putLast(place)
    return fetched
  }

  #putLast({ asked }: Place<R>): void {
    for (const reader of asked) if (this.#ready.delete(reader)) this.#ready.add(reader)
  }
}
