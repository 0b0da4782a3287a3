import { noMark } from '../batches/record-batch.ts'
import type { TopicPartition } from '../port.ts'
import type { LogEnds } from '../session/driver.ts'
import type { FetchedRecords } from './fetch.ts'
import type { PlacedReading, Source } from './fetch-source.ts'

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

/** busy: its records are being worked on. resting: in trouble, and waiting to try again. */
export interface ReadingState extends PlacedReading {
  phase: 'ready' | 'busy' | 'resting'
  /** Where it was told that its log ends, and the life in which it was; null: it was not yet. */
  toldEnd: { life: number; highWatermark: number } | null
  /** Who is read from until when, in monotonic milliseconds; null: the leader is to be found. */
  from: { node: number; until: number; isReplica: boolean } | null
  /** Whether its broker had more when it answered last. */
  isBehind: boolean
  /** Where it is wanted. */
  source: Source<ReadingState> | null
  /** Whether its leader is being looked for. */
  isSought: boolean
  /** Monotonic milliseconds of the last records. */
  busySince: number
  failures: number
  /** The last failure, and since when there were no others, in monotonic milliseconds. */
  trouble: { text: string; since: number } | null
  /** Texts that were told already of the trouble that the partition is in. */
  told: Set<string>
}

export function newState(reading: Reading): ReadingState {
  return {
    reading,
    phase: 'ready',
    askedOf: null,
    life: null,
    toldEnd: null,
    from: null,
    isBehind: false,
    source: null,
    isSought: false,
    busySince: Number.NEGATIVE_INFINITY,
    failures: 0,
    trouble: null,
    told: new Set(),
    mark: noMark(),
  }
}
