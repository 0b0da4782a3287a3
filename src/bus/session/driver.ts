import type { BusRecord, OutgoingRecord, TopicPartition } from '../port.ts'

/** An adapter has to offer this for a partition's life; everything else about sessions is the same on every adapter. */

/** Where few records come, an adapter leaves brokers so long to collect more, and no longer. */
export const longestPaceMs = 64

/** One epoch of one partition's ownership. */
export interface PartitionDriver {
  /** Reads what the earlier owner left, once nothing of it can change any more. */
  acquire(): Promise<Acquired>
  /** The first offset of a record of at least this time (milliseconds since 1970), or the log's end. */
  offsetAt(timestamp: number): Promise<number>
  /** Deliver from this offset on (after acquire, and whenever a batch did not continue where the last one ended). */
  seek(offset: number): void
  pause(): void
  resume(): void
}

/** One partition's part of a transaction: records, and `offset` with `metadata` as the group's progress on it. */
export interface Part extends TopicPartition {
  records: readonly OutgoingRecord[]
  offset: number
  metadata: string
}

/** The commits of a process whose partitions share a transaction. The group's generation fences them. */
export interface SharedCommits {
  /**
   * One transaction. No two overlap.
   * @throws whatever happened: any error ends all sessions of the process, and whether it was committed is then unknown.
   */
  commit(parts: readonly Part[]): Promise<void>
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

/** LogEnds is what a partition's log holds now: offsets from `low` up to, and without, `high`. */
export interface LogEnds extends TopicPartition {
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

/** GroupEvents is what a group tells of itself; implemented by Ownership, called by the adapter. */
export interface GroupEvents {
  /** Is called before this member (re-)joins, to finish what is in flight. Resolves when the join may go on. */
  joining(): Promise<void>
  /** This member asks now to be let in to the next generation: the last one may be over at any time. */
  entering(): void
  /** This member has heard nothing of what it is given in the next generation. */
  notLetIn(): void
  /**
   * The whole new assignment.
   * @param unbroken whether nobody else can have owned a partition that is kept: no generation of the group lies between
   *   this one and the one before, and the member is the same
   */
  assigned(partitions: readonly TopicPartition[], unbroken: boolean): void
  batch(batch: Batch): void
  /** The log was cut: it does not hold the offset that was to be read next. */
  cut(log: LogEnds): void
  /** The partition is not there now: when it comes back it may be another one of its name. */
  gone(tp: TopicPartition, error: Error): void
}

/** PartitionHistory is what decides where a group starts on a partition. */
export interface PartitionHistory extends TopicPartition {
  /** Whether the group ever committed an offset on it. */
  known: boolean
}

/** GroupDriver is what sessions need of their group, as an adapter gives it. */
export interface GroupDriver {
  partition(tp: TopicPartition): PartitionDriver
  readonly shared: SharedCommits
  /** Tells the history of all the topic's partitions. */
  history(topic: string): Promise<readonly PartitionHistory[]>
  ends(tp: TopicPartition): Promise<LogEnds>
  /** Tells whether any process is a member of the group, or about to become one. */
  hasMembers(): Promise<boolean>
  member: GroupMembership
}

/** The part of a GroupMember that sessions see. */
export interface GroupMembership {
  readonly hasLease: boolean
  /** Whether the coordinator has confirmed the membership within the lease, also while the group is being left. */
  readonly isMember: boolean
  readonly totalPartitions: number
  readonly trouble: string | null
  readonly unread: readonly string[]
  retire(): void
  leave(): Promise<void>
}
