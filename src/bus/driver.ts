import type { GroupMember } from './membership/member.ts'
import type { BusRecord, OutgoingRecord, TopicPartition } from './port.ts'

/** What an adapter provides for owning partitions. Everything else about sessions is the same on every adapter. */

/** Longest pause between fetches at a low rate, so that records collect at the broker. */
export const longestPaceMs = 64

/** One epoch of one partition's ownership. */
export interface PartitionDriver {
  /** Reads the previous owner's committed offset once it cannot change any more. */
  acquire(): Promise<Acquired>
  /** The first offset with at least this timestamp (milliseconds since 1970), or the log's end. */
  offsetAt(timestamp: number): Promise<number>
  /**
   * Delivers from this offset on. Called after `acquire`, and after a batch that did not continue at the session's position.
   */
  seek(offset: number): void
  pause(): void
  resume(): void
}

/** One partition's part of a transaction: its records, and the offset and metadata to commit. */
export interface Part extends TopicPartition {
  records: readonly OutgoingRecord[]
  offset: number
  metadata: string
}

export interface Committed {
  offset: number
  metadata: string | null
}

export interface Acquired extends Pick<LogEnds, 'low' | 'high'> {
  committed: Committed | null
  /** Changes when the topic is deleted and recreated; missing where the bus has no ids. */
  topicId?: string | undefined
  /** Whether a later commit was lost: results may exist of records that `committed` does not know to be done. */
  lacksCommit?: boolean
}

/** The offsets that a partition's log holds: from `low` up to, but without, `high`. */
export interface LogEnds extends TopicPartition {
  low: number
  high: number
}

/** Fetched records. Offsets missing between them are gaps. */
export interface Batch extends TopicPartition {
  /**
   * Offset at which the fetch began. If it is not the session's position, the batch belongs to an earlier life of the
   * partition.
   */
  fetchedOffset: number
  records: readonly BusRecord[]
  /** Offset of the next fetch. */
  nextOffset: number
  /** High watermark in the fetch answer. */
  highWatermark: number
}

/** What sessions need of their group; provided by the adapter. */
export interface GroupDriver {
  partition(tp: TopicPartition): PartitionDriver
  /**
   * Commits for all partitions of the process in one transaction, fenced by the group's generation. Calls never overlap.
   * @throws any error ends all sessions of the process; whether it was committed is then unknown
   */
  commit(parts: readonly Part[]): Promise<void>
  /** Whether the group has ever committed an offset, for each partition of the topic. */
  history(topic: string): Promise<readonly boolean[]>
  ends(tp: TopicPartition): Promise<LogEnds>
  /** Whether the group has members, joining ones included. */
  hasMembers(): Promise<boolean>
  readonly member: Pick<
    GroupMember,
    'hasLease' | 'isMember' | 'totalPartitions' | 'trouble' | 'unread' | 'retire' | 'leave'
  >
  /** Owned partitions that cannot be read now, each with the reason. */
  unread(): readonly string[]
  /** Called after the group was left. */
  close(): void
}
