import type { Mark } from '../batches/record-batch.ts'
import { PartitionMap } from '../partitions.ts'
import { committedIn, type Fetch, type Fetched, type FetchLimits, type Position, termsOf } from './fetch.ts'
import type { FetchedPartition } from './fetch-api.ts'
import type { Reading } from './reading.ts'

/** A reading and its last fetch. */
export interface PlacedReading {
  readonly reading: Reading
  /** The source of its last fetch, or null. Answers of earlier sources are stale. */
  askedOf: unknown
  /** The reading's life when it was fetched; null before the first fetch. */
  life: number | null
  mark: Mark
}

/** A partition and offset in a fetch, with the readings that share it. */
interface Place<R> extends Position {
  readonly asked: R[]
}

/** A broker from which partitions are fetched, one fetch at a time. */
export class Source<R extends PlacedReading> {
  readonly #ask: Fetch
  /**
   * Readings that want records. Those that got some last come last, because a broker fills its answer in the order of the
   * request.
   */
  readonly #ready = new Set<R>()
  /** The places of the last fetch. */
  #places: readonly Place<R>[] = []
  /** Whether a fetch is in flight. */
  isAsked = false
  /** Earliest start of the next fetch unless it is hurried, in monotonic milliseconds. */
  restsUntil = 0
  /** Whether a reading with more records at the broker became ready since the last fetch began. */
  isHurried = false
  /** Time of the last answer, in monotonic milliseconds. */
  answeredAt = 0

  constructor(ask: Fetch) {
    this.#ask = ask
  }

  get isWanted(): boolean {
    return this.#ready.size > 0
  }

  /** All readings of the last fetch. */
  get asked(): R[] {
    return this.#places.flatMap(place => this.askedAt(place))
  }

  /** The last fetch's readings at this place, without those that have moved to another source since. */
  askedAt({ asked }: Place<R>): R[] {
    return asked.filter(({ askedOf }) => askedOf === this)
  }

  /** Includes the reader in fetches, from its current offset. */
  want(reader: R): void {
    this.#ready.add(reader)
  }

  /** Excludes the reader from later fetches. A fetch in flight may still serve it. */
  leave(reader: R): void {
    this.#ready.delete(reader)
  }

  /**
   * Chooses the places of the next fetch. Readers of one partition share a place if they are at the same offset; the others
   * wait for the fetch after it.
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

  /** @returns the answer per place; lacks some places when others fill the memory */
  async fetch(limits: FetchLimits): Promise<Map<Place<R>, Fetched>> {
    const partitions = new PartitionMap<FetchedPartition>()
    const request = { ...termsOf(limits), partitions: this.#places }
    for (const found of (await this.#ask(request)).partitions) partitions.set(found, found)
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
