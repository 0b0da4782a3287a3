import { PartitionMap, placeName } from '../partitions.ts'
import type { TopicPartition } from '../port.ts'
import type { Reading, Reads } from '../read/reading.ts'
import type { Ownership } from './ownership.ts'

/** The readings of all partitions that this process owns or has owned. */
export class OwnedReadings {
  readonly #fetcher: Reads
  readonly #ownership: Ownership
  readonly #readings = new PartitionMap<Reading>()

  constructor(fetcher: Reads, ownership: Ownership) {
    this.#fetcher = fetcher
    this.#ownership = ownership
  }

  /** Moves the reading of a partition for a new session. */
  cursor(tp: TopicPartition) {
    const reading = this.#readings.get(tp) ?? this.#create(tp)
    this.#readings.set(tp, reading)
    const change = (how: Pick<Reading, 'offset'> | Pick<Reading, 'paused'>) => {
      Object.assign(reading, how)
      this.#fetcher.read(reading)
    }
    return {
      seek: (offset: number) => change({ offset }),
      pause: () => change({ paused: true }),
      resume: () => change({ paused: false }),
    }
  }

  /** The partitions that cannot be read now, each with the reason. */
  unread(troubleOf: (reading: Reading) => string | null): string[] {
    return [...this.#readings].flatMap(reading => {
      const trouble = troubleOf(reading)
      return trouble === null ? [] : [`${placeName(reading.tp)} cannot be read now: ${trouble}`]
    })
  }

  close(): void {
    for (const reading of this.#readings) this.#fetcher.forget(reading)
  }

  #create(tp: TopicPartition): Reading {
    const ownership = this.#ownership
    const reading: Reading = {
      tp,
      offset: 0,
      paused: true,
      take({ records, next: nextOffset, highWatermark }, fetchedOffset) {
        ownership.batch({ ...tp, fetchedOffset, records, nextOffset, highWatermark })
      },
      cut: ends => ownership.cut(ends),
      gone: error => ownership.gone(tp, error),
    }
    return reading
  }
}
