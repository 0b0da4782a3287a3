import type { Told } from '../../told.ts'
import type { LogEnds } from '../driver.ts'
import type { BusRecord, TopicPartition } from '../port.ts'
import type { FetchedRecords, Position } from './fetch.ts'

/** Fetched records of one partition, and where to continue. */
export type Fetched = Readonly<Pick<FetchedRecords, 'next' | 'highWatermark'>> & {
  readonly records: readonly BusRecord[]
}

/** Fetches for readings; each adapter has one. */
export interface Reads {
  /** Begins to read. Call it again after a change of the reading's offset or pause. */
  read(reading: Reading): void
  forget(reading: Reading): void
}

/** A position in one partition from which records are read. */
export interface Reading {
  readonly tp: TopicPartition
  offset: number
  paused: boolean
  /**
   * Handles fetched records, or a piece of them; this reading is not fetched again while the promise is pending.
   * @param from the offset at which the fetch, or the piece, began
   */
  take(fetched: Fetched, from: number): void | Promise<void>
  /** Called when the log does not hold the offset any more; sets another offset. */
  cut(log: LogEnds): void
  /** Called when the partition does not exist now, or belongs to a new topic of the same name. */
  gone?(error: Error): void
}

/** A partition and offset in a fetch, with the readings that share it. */
export interface Place extends Position {
  readonly asked: ReadingState[]
}

/** How the fetcher reads for a reading. */
export class ReadingState {
  readonly reading: Reading
  /** busy: its records are being handled. resting: it failed and waits for its retry. */
  phase: 'ready' | 'busy' | 'resting' = 'ready'
  /** Id of the topic that is read; undefined while unknown. */
  topicId: string | undefined
  /** Node to read from, and until when, in monotonic milliseconds; null if the leader must be looked up. */
  from: { node: number; until: number; isReplica: boolean } | null = null
  isSought = false
  /** Its place in its last fetch. Answers to earlier fetches are stale. */
  place: Place | null = null
  /** Whether the broker had more records at its last answer. */
  isBehind = false
  /** Time of the last records, in monotonic milliseconds. */
  busySince = Number.NEGATIVE_INFINITY
  /**
   * The current series of errors: the last one, their number, the time of the first, in monotonic milliseconds, and those
   * that were logged.
   */
  trouble: { text: string; failures: number; since: number; told: Told } | null = null

  constructor(reading: Reading) {
    this.reading = reading
  }
}
