import { type Mark, noMark } from '../batches/record-batch.ts'
import { PartitionMap } from '../partition-map.ts'
import type { TopicPartition } from '../port.ts'
import { FetchSession } from '../wire/fetch-session.ts'
import type { Fetch, Position } from './fetch.ts'

/** FetchPosition says where a partition is read at a source. */
export class FetchPosition implements Position {
  readonly tp: TopicPartition
  offset = 0
  mark: Mark = noMark()
  /** The number of the last fetch that it was asked for in. */
  askedIn = 0

  constructor(tp: TopicPartition) {
    this.tp = tp
  }
}

/**
 * A broker that partitions are read from, one fetch at a time. What a fetch says of each partition is kept from fetch to
 * fetch, for at a trickle there are a hundred of them a second, over as many partitions as there are.
 */
export class Source {
  /** Remembers what it asks for. */
  readonly session: FetchSession
  /** Remembers nothing. */
  readonly alone: Fetch
  /** Whether a fetch is under way. */
  isAsked = false
  /** The next fetch begins no sooner, in monotonic milliseconds. */
  restsUntil = 0
  readonly #places = new PartitionMap<FetchPosition>()
  #fetches = 0

  constructor(ask: Fetch) {
    this.alone = ask
    this.session = new FetchSession(ask)
  }

  /** @returns what to tell of each partition that is to be asked for: `add` says whether the fetch asks for this offset */
  begin() {
    this.isAsked = true
    const number = ++this.#fetches
    const places: FetchPosition[] = []
    const add = (tp: TopicPartition, offset: number, mark: Mark): boolean => {
      const place = this.placeOf(tp)
      if (place.askedIn === number) return place.offset === offset
      place.askedIn = number
      place.offset = offset
      place.mark = mark
      places.push(place)
      return true
    }
    return { places, add }
  }

  end(): void {
    this.isAsked = false
  }

  placeOf(tp: TopicPartition): FetchPosition {
    const known = this.#places.get(tp)
    if (known) return known
    const place = new FetchPosition(tp)
    this.#places.set(tp, place)
    return place
  }
}
