import type { BusRecord, OutgoingRecord, TopicPartition } from '../port.ts'

/** What an adapter has to offer for a partition's life; everything else about sessions is the same on every adapter. */

/** One epoch of one partition's ownership. */
export interface PartitionDriver {
  /** Fences every earlier owner, then reads what it left. In that order: before, an open transaction hides its offset. */
  acquire(): Promise<Acquired>
  /**
   * One transaction: the records, and `offset` with `metadata` as the group's progress.
   * @throws whatever happened: any error ends the epoch, and whether the transaction was committed is then unknown.
   */
  commit(records: readonly OutgoingRecord[], offset: number, metadata: string): Promise<void>
  /** Deliver from this offset on (after acquire, and whenever a batch did not continue where the last one ended). */
  seek(offset: number): void
  pause(): void
  resume(): void
  release(): Promise<void>
}

/** A group's progress on a partition. */
export interface Committed {
  offset: number
  metadata: string | null
}

export interface Acquired {
  committed: Committed | null
  /** The first offset of the log and the one after its last. */
  low: number
  high: number
}

/** Records as fetched. Offsets missing between them are gaps. */
export interface Batch extends TopicPartition {
  /** Where the fetch began: must be where the session stands, else the batch belongs to another life of the partition. */
  fetchedOffset: number
  records: readonly BusRecord[]
  /** Where the next fetch begins. */
  nextOffset: number
  /** The end of the log as the broker told it with this batch. */
  highWatermark: number
}

/** What a group tells of itself; implemented by Ownership, called by the adapter. */
export interface GroupEvents {
  /** Before this member (re-)joins: finish what is in flight. Resolves when the join may go on. */
  joining(): Promise<void>
  /** The join did not come about: go on with what is owned. */
  joinFailed(): void
  /** The whole new assignment. Synchronous: fresh partitions are paused before it returns. */
  assigned(partitions: readonly TopicPartition[]): void
  batch(batch: Batch): void
  fatal(error: Error): void
}

/** A group's membership as an adapter gives it. */
export interface GroupDriver {
  partition(tp: TopicPartition): PartitionDriver
  /** Whether the group ever committed an offset on the topic. */
  knows(topic: string): Promise<boolean>
  /** The topics' partitions in all. */
  totalPartitions(): number
  leaseUntil(): number
  leave(): Promise<void>
}
