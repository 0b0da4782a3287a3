/**
 * The port to the bus: what busgate needs of Kafka, in busgate's words.
 * Two adapters keep its promises, kafka-bus.ts and memory/; test/bus/contract.ts holds both to them.
 */

/** The brokers could not be reached: nothing is known of what was asked. Try again. */
export class BusUnavailable extends Error {
  override readonly name = 'BusUnavailable'
}

/** A record to be written. `partition` is chosen by the key (murmur2, as every Kafka client does) when left out. */
export interface OutgoingRecord {
  topic: string
  key: Buffer | string | null
  value: Buffer | null
  headers?: RecordHeaders
  partition?: number
  /**
   * Makes a record to stand in its place where its topic does not take so many bytes (max.message.bytes); it may have a shorter one
   * in its turn. Without it a record that is too large is refused.
   */
  shorter?: () => OutgoingRecord
}

/** Header values as Kafka carries them: bytes, text, or several under one name. */
export type RecordHeaders = Record<string, Buffer | string | (Buffer | string)[] | undefined>

/**
 * A record as it was read. Offsets stay far below 2^53, so they are plain numbers. Its key and value may be made anew
 * whenever somebody asks for them: a copy by a spread may have neither.
 */
export interface BusRecord {
  offset: number
  /**
   * Milliseconds since 1970, set by the producer or by the broker (a setting of the topic), up to the year 9999; -1 where
   * what was set cannot be that. A producer's clock may be wrong.
   */
  timestamp: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** The bytes of both, where they need not be made to be counted. */
  readonly contentBytes?: number
  headers: RecordHeaders
  /** Set where a whole batch of records cannot be read. Key and value are null then, and there are no headers. */
  unreadable?: Unreadable
}

export const unreadableCodes = ['CODEC_UNKNOWN', 'BATCH_CORRUPT', 'BATCH_TOO_LARGE'] as const

/**
 * Unreadable says why a batch cannot be read, now or ever. One record stands for it, at the offset of its first; the
 * other offsets up to its last are gaps.
 */
export interface Unreadable {
  code: (typeof unreadableCodes)[number]
  /** Where, why, and what to do. Holds nothing of the batch's content. */
  message: string
  /** The offset of the batch's last record. */
  lastOffset: number
}

export interface TopicPartition {
  topic: string
  partition: number
}

/** A partition that an open transaction keeps from being read. */
export interface BlockedPartition extends TopicPartition {
  /** Up to where it is read, whose transaction it is, and what to do. */
  text: string
}

/** Publishes outside of any session: the callback receiver's way to the bus. */
export interface Publisher {
  /**
   * Resolves when the bus knows this producer. Who only publishes need not wait for it.
   * @throws BusUnavailable when no broker answers; Error when they do not let it write
   */
  connect(): Promise<void>
  /**
   * Resolves when all in-sync replicas hold every record.
   * @throws Error when the bus did not confirm; then the records may or may not be on the topic.
   */
  publish(records: OutgoingRecord[]): Promise<void>
  close(): Promise<void>
}

/** Reads one partition's committed records in the order of their offsets, without a group: it commits nothing. */
export interface Follower {
  /**
   * Resolves when all that was committed at the time of the call was handed over, or the follower is closed. On Kafka a
   * transaction's records can be read moments after its producer was told of the commit: as soon as its marker is there.
   * @param behindOpen waits for the transactions that are open now as well: what was committed behind them cannot be
   *   read before they end
   */
  caughtUp(behindOpen?: 'behind open transactions'): Promise<void>
  /** Everything before this offset was handed over and worked on. */
  readonly position: number
  /** Ends the handing over of records, without a wait for those that are being worked on. */
  close(): Promise<void>
}

/** A partition that is read together with others, by one reader. */
export interface ReadPartition extends TopicPartition {
  /** False once another member of the group may have it. */
  readonly owned: boolean
  /** Every record before this offset has been worked on. */
  done(before: number): void
}

/** Reads, as a member of a group, the partitions that the group gives it, and commits how far it has come. */
export interface GroupReader {
  /** Commits what has been worked on, and leaves the group. */
  close(): Promise<void>
}

export interface GroupReadOptions {
  /** The whole name. */
  groupId: string
  /** Where to begin where the group has no progress. */
  startFrom: From
  /** Gives up a join that waits for its coordinator. */
  ending: AbortSignal
  /** Takes records as the handler of `follow` does, and tells the partition how far they were worked on. */
  onRecords(from: ReadPartition, records: readonly BusRecord[]): Promise<void>
  /** The group rebalances. Resolves when nothing is worked on any more; that is waited for up to kafka.drainMs. */
  pause(): Promise<void>
  /** Partitions that are still `owned` are gone on with. */
  resume(): void
  /** A partition cannot be read, and will not be readable by itself. */
  failed(error: Error): void
}

/** A mark that records are searched for: this key, or these bytes somewhere in its key or value. */
export type Needle = { key: Buffer } | { bytes: Buffer }

export interface Query {
  from: From
  /** Any of them will do. */
  needles: readonly Needle[]
  /** Gives up. */
  ending: AbortSignal
  /**
   * Takes what is found, some records at a time and waited for, instead of `Searched.records`: it may be more than memory
   * holds. When it fails, the search does.
   */
  take?: (records: readonly BusRecord[]) => Promise<void>
}

export interface Searched extends TopicPartition {
  /** The first offset that was looked at, and the one behind the last. */
  from: number
  until: number
  /** The first offset that the log holds. */
  start: number
  /** When the first record that was looked at was written, milliseconds since 1970; null: unknown. */
  since: number | null
  /** Batches that cannot be read. */
  unreadable: number
  /** Empty where the query takes them. */
  records: BusRecord[]
}

/** Follows every partition that the topics had when it began. */
export interface Reader {
  /** Waits as `Follower.caughtUp` does, for all partitions. */
  caughtUp: Follower['caughtUp']
  close(): Promise<void>
}

/**
 * Exclusive, fenced ownership of one partition of commands. Records come through the SessionListener; what becomes of
 * each is told here, by offset, and is committed in one atomic step a cycle together with the records to publish.
 * After the session is lost every call is harmless: an outcome of a POST still counts if no other process took over.
 */
export interface Session extends Readonly<TopicPartition> {
  /** False once lost, and while the group re-joins: no new envelope may be formed then. */
  readonly open: boolean
  /** False once lost. */
  readonly alive: boolean
  /**
   * Records below this offset may have been answered before: the committed offset carried no window, because somebody
   * reset it or the group is new. Only the results know. 0 where the window tells, and once all of them are settled.
   */
  readonly uncheckedUntil: number
  /** The results were looked through: no record from this offset on was answered before. The next owner knows it, too. */
  answeredBefore(offset: number): void
  /**
   * Writes intents for these offsets with the next commit.
   * @returns true when they are committed and the POST may begin; false when it must not.
   */
  intend(offsets: readonly number[]): Promise<boolean>
  /** The offset is done with the next commit, in one transaction with these records. */
  settle(offset: number, records: OutgoingRecord[]): void
  /** Takes an intent back: known not to have been sent. The offset is new again. Harmless where `intend` said no. */
  release(offset: number): void
  /**
   * Resolves after the commit that holds everything settled and released so far, or when the session is lost.
   * @param isUrgent whether that is not to wait for company; default: it may
   */
  committed(isUrgent?: boolean): Promise<void>
  /** It may hold this much undone in memory, however much other partitions hold. */
  readonly capacity: Backlog
  /** It may hold this much undone in memory as long as the other partitions hold no more than now. */
  readonly room: Backlog
  /**
   * Tells how many bytes of memory are taken by what was made of a record, until it is settled or shelved. Before that it
   * counts for as many as may be.
   * @returns how many it counts for together with its own
   */
  made(record: BusRecord, bytes: number): number
  /** Whether it takes nothing more in until some of what it holds is settled or shelved. */
  readonly full: boolean
  /** Forgets new records for now, so that others can be taken in: their listener must forget them too. */
  shelve(offsets: readonly number[]): void
  /** Reads shelved records again, for the listener's `recalled`. */
  recall(offsets: readonly number[]): void
  /** Whether recalled records are still to come. */
  readonly recalling: boolean
}

/** An amount of records in memory. */
export interface Backlog {
  records: number
  bytes: number
}

/**
 * SessionListener is what the worker does with the partitions it owns. No call may block or throw; slow work is queued.
 */
export interface SessionListener {
  /** Partitions were given or taken away, open or not: `Membership.share` answers anew. */
  shareChanged?(): void
  opened(session: Session): void
  /**
   * Records that were worked on before: below the checkpoint as far as `lookBack` asks for them, and above it when they
   * are done, or are being sent by this process. Not to be worked on, unless they come again as new.
   */
  history?(session: Session, records: readonly BusRecord[]): void
  /** New commands, in the order of their offsets. Each must be settled in the end. */
  records(session: Session, records: readonly BusRecord[]): void
  /** Records that were shelved, as asked for by `recall`. Each must be settled in the end, or shelved again. */
  recalled?(session: Session, records: readonly BusRecord[]): void
  /** The log begins at `before` now: shelved records before it are gone, and told of. */
  cut?(session: Session, before: number): void
  /**
   * Taken over from another process with an intent: perhaps sent. Never to be POSTed on this path.
   * @param since no POST of them can have begun before, by the other process's clock, ms since 1970; 0: unknown
   */
  inDoubt(session: Session, records: readonly BusRecord[], since: number): void
  /** `open` is false from now on, for the partition's hand-over: what is intended and has not begun is to be released. */
  held?(session: Session): void
  /** `open` is true again after a re-join that kept the partition. */
  resumed(session: Session): void
  closed(session: Session): void
  /** The worker may not go on by itself: the process must end. */
  fatal(error: Error): void
}

/** Membership in the group that shares the command topics' partitions. */
export interface Membership {
  /** Whether POSTs may begin: the partitions cannot have another owner yet, however long the machine was suspended. */
  hasLease(): boolean
  /** Partitions owned and partitions there are: the process's share of an account's rate. */
  share(): { owned: number; total: number }
  /** Settings of back-pressure for metrics: the state of each owned partition. */
  sessions(): Iterable<SessionState>
  /** Tells why the group cannot be asked now; null: it can. While it cannot, what is known waits to be committed. */
  trouble(): string | null
  /**
   * Tells what is not read, and why: topics that nobody reads beyond what is given to this process, and partitions given to it
   * that have been in trouble for some seconds. Empty: nothing.
   */
  unread(): readonly string[]
  /**
   * Leaves the group. From the call on no POST may begin. Finishes what is in flight, commits, leaves the group.
   * @param finishMs how long that may take, default kafka.drainMs
   */
  leave(finishMs?: number): Promise<void>
}

/** A look at one owned partition, for metrics. */
export interface SessionState extends TopicPartition {
  /** Share of the window's 8,192 offsets in use, 0 to 1. */
  windowUsed: number
  /** Records between the committed base and the end of the partition, as last seen; also while paused. */
  lag: number
  /** Whether a session is open, i.e. commands can be sent. */
  open: boolean
  /** Whether something waits for its commit. */
  committing: boolean
}

export interface TopicLook {
  /** Differs from the one before when the topic was deleted and made anew. Empty where the bus cannot say. */
  id: string
  partitions: number
  /** Partitions that nobody can read from, or write to, for want of a leader. */
  leaderless: number[]
}

/** A connection to Kafka, or the bus inside the process: `openBus` of the settings, for `createWorker` and `createProducer`. */
export interface Bus {
  /** Opens a writer of records outside of transactions. */
  publisher(): Promise<Publisher>
  /**
   * Joins the group of the settings and hands over the partitions that it assigns, one session each.
   * @throws Error when the group refuses this member; BusUnavailable
   */
  join(topics: readonly string[], listener: SessionListener, options?: JoinOptions): Promise<Membership>
  /**
   * Hands over a partition's records until it is closed, whatever becomes of the brokers in the meantime.
   * @param from the first record of at least this timestamp (ms since 1970), or the beginning, or now on
   * @param onRecords a promise it answers holds the reading of this partition back until it resolves; when it fails,
   *   the same records are handed over again
   * @throws Error when there is no such partition, or no right to read it
   */
  follow(tp: TopicPartition, from: From, onRecords: OnRecords): Promise<Follower>
  /**
   * Reads the topics together with the other members of a group, each record at least once: nothing fences a member whose
   * partition was given to another one.
   * @throws Error when the group refuses this member; BusUnavailable
   */
  readInGroup(topics: readonly string[], options: GroupReadOptions): Promise<GroupReader>
  /** Follows all partitions of the topics. @throws Error when one of the topics does not exist */
  read(topics: readonly string[], from: From, onRecords: RecordsHandler): Promise<Reader>
  /**
   * Looks through what a partition holds now for records with certain bytes, as fast as its log can be fetched.
   * @throws Error when there is no such partition, or no right to read it
   */
  search(tp: TopicPartition, query: Query): Promise<Searched>
  /**
   * Tells how far a group has come on each of the partitions, with what it has noted there; null where it has not
   * begun.
   */
  progress(
    groupId: string,
    tps: readonly TopicPartition[],
  ): Promise<({ offset: number; metadata: string | null } | null)[]>
  /** Number of partitions of each topic; a topic that does not exist is left out. */
  partitions(topics: readonly string[]): Promise<Map<string, number>>
  /** How a topic is now; null: it does not exist, or may not be seen. @throws BusUnavailable */
  lookAt(topic: string): Promise<TopicLook | null>
  /** Tells which of the topics are compacted, as far as this client may know. */
  compacted(topics: readonly string[]): Promise<string[]>
  /** Partitions of this process that an open transaction has blocked for half a minute. */
  blocked(): readonly BlockedPartition[]
  /** Leaves the groups and closes all connections. */
  close(): Promise<void>
}

export interface JoinOptions {
  /** A group beside the bus's own, whose progress is apart: its name behind the own one's. */
  group?: string
  /** How many offsets below its checkpoint a topic's sessions read again, for the listener's `history`. Default none. */
  lookBack?: (topic: string) => number
  /** Whether what the records of a topic tell of may have been sent, whatever the group's progress. Default: no. */
  mayBeSent?: (topic: string) => boolean
  /** Where the log ends before the checkpoint, it is read again from so many milliseconds ago. Default: from its beginning. */
  lookBackMs?: number
  /** Where to begin without a checkpoint, instead of kafka.startFrom. */
  startFrom?: 'earliest' | 'latest' | 'fail'
}

/**
 * From says where to begin: a timestamp is in ms since 1970. An offset that the log does not hold stands for its
 * beginning.
 */
export type From = number | 'earliest' | 'latest' | { offset: number }

export type OnRecords = (records: readonly BusRecord[]) => void | Promise<void>

export type RecordsHandler = (from: TopicPartition, records: readonly BusRecord[]) => void | Promise<void>
