import type { TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import type { FetchedRecords } from './fetch.ts'

/** One place in one partition that is read on from. */
export interface Reading {
  readonly tp: TopicPartition
  /** Where the next fetch begins. */
  offset: number
  /** Fetches of this life are taken; those of an earlier one are not, be they from the same place. */
  life: number
  paused: boolean
  /**
   * A promise that it answers holds this reading back until it resolves.
   * @param from the offset that the fetch began at
   */
  take(fetched: FetchedRecords, from: number): void | Promise<void>
  /** The log does not hold the offset: says where to go on. */
  cut(log: LogEnds): void
  /** The partition is not there now: when it comes back it may be another one of its name. */
  gone?(error: Error): void
}
