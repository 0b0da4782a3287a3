/**
 * The port to the bus: what busgate needs of Kafka. kafka-bus.ts and memory/ implement it; test/bus/contract.ts tests both
 * against the same contract.
 */

import { byCode } from '../telemetry/error.ts'
import type { Bus as OpenedBus } from './opened.ts'

/** No broker could be reached. Whether the request took effect is unknown; retry it. */
export class BusUnavailable extends Error {
  /** Recognises any error with this code. */
  static override [Symbol.hasInstance] = byCode('BUS_UNAVAILABLE')
  override readonly name = 'BusUnavailable'
  readonly code = 'BUS_UNAVAILABLE'
}

/** A record to be written. Without `partition`, the key chooses it (murmur2, as in every Kafka client). */
export interface OutgoingRecord {
  topic: string
  key: Buffer | string | null
  value: Buffer | null
  headers?: RecordHeaders
  partition?: number
  /**
   * Makes a smaller record to write instead when this one exceeds the topic's max.message.bytes. Without it, a record that
   * is too large is refused.
   */
  shorter?: () => OutgoingRecord
  /** Called when an idempotent write is confirmed and the broker said where the record is. */
  written?: (place: Place) => void
}

/** Header values as Kafka carries them: bytes, text, or several values under one name. */
export type RecordHeaders = Record<string, Buffer | string | (Buffer | string)[] | undefined>

/**
 * A record that was read. Offsets are plain numbers because they stay far below 2^53. Key and value may build a new Buffer for
 * each call. It is declared as a class so that a copy by spread, which would lack both, does not compile.
 */
export declare abstract class BusRecord {
  offset: number
  /**
   * Milliseconds since 1970, at most the year 9999; -1 if the record's timestamp is outside of that range. The producer or
   * the broker sets it (`message.timestamp.type`); a producer's clock may be wrong.
   */
  timestamp: number
  get key(): Buffer | null
  get value(): Buffer | null
  /** Bytes of key and value together, if known without building them. */
  readonly contentBytes?: number
  headers: RecordHeaders
  /** Set if a whole batch cannot be read. Key and value are null then, and there are no headers. */
  unreadable?: Unreadable
}

export const unreadableCodes = ['CODEC_UNKNOWN', 'BATCH_CORRUPT', 'BATCH_TOO_LARGE'] as const

/**
 * Why a batch can never be read. One record represents the batch, at the batch's first offset; the batch's other offsets are
 * gaps.
 */
export interface Unreadable {
  code: (typeof unreadableCodes)[number]
  /** Where, why, and what to do. Contains nothing of the batch's content. */
  message: string
  /** Offset of the batch's last record. */
  lastOffset: number
}

export interface TopicPartition {
  topic: string
  partition: number
}

/** Where a record is. */
export interface Place extends TopicPartition {
  offset: number
}

/** A partition whose reading an open transaction blocks. */
export interface BlockedPartition extends TopicPartition {
  /** Records before this offset are read. */
  offset: number
  /** Says up to which offset the partition is read, whose transaction is open, and what to do. */
  text: string
}

/** Publishes outside of any session, for instance for the callback receiver. */
export interface Publisher {
  /**
   * Resolves when the brokers have initialised this producer. Optional: `publish` connects by itself.
   * @throws BusUnavailable when no broker answers; Error when the brokers do not let the producer write
   */
  connect(): Promise<void>
  /**
   * Resolves when all in-sync replicas hold every record.
   * @throws Error when the write was not confirmed; the records may or may not be on the topic
   */
  publish(records: OutgoingRecord[]): Promise<void>
  close(): Promise<void>
}

/** Reads one partition's records in the order of their offsets, without a group and without committing. */
export interface Follower {
  /**
   * Resolves when the handler has taken every record that was committed before the call, or when the follower is closed. On
   * Kafka, records of a transaction become readable shortly after the commit was confirmed, once its marker is written.
   * @param behindOpen also waits for the transactions that are open now: records behind an open transaction cannot be read
   *   before it ends
   */
  caughtUp(behindOpen?: 'behind open transactions'): Promise<void>
  /** Every record before this offset was handled. */
  readonly position: number
  /** Stops delivering records. Does not wait for the handler. */
  close(): Promise<void>
}

/** One of several partitions that a reader reads. */
export interface ReadPartition extends TopicPartition {
  /** False once another member of the group may own it. */
  readonly owned: boolean
  /** Marks every record before this offset as handled. */
  done(before: number): void
}

export interface GroupReadOptions {
  /** The complete group id. */
  groupId: string
  /** Where to begin if the group has no committed offset. */
  startFrom: From
  /** Aborts a join that waits for the coordinator. */
  ending: AbortSignal
  /** Handles records, as the handler of `follow` does; reports handled records with `from.done`. */
  onRecords(from: ReadPartition, records: readonly BusRecord[]): Promise<void>
  /** Called when the group rebalances. Resolves when no record is being handled any more; waited for up to the drain time. */
  pause(): Promise<void>
  /** Called after the rebalance. Partitions that are still `owned` continue. */
  resume(): void
  /** Called when a partition cannot be read and will not recover by itself. */
  failed(error: Error): void
}

/**
 * What is read while transactions are open. `uncommitted` also delivers records of open and aborted transactions, so that
 * nobody's open transaction delays any record.
 */
export type Isolation = 'committed' | 'uncommitted'

/** A search condition: the record has this key, or contains these bytes in its key or value. */
export type Needle = { key: Buffer } | { bytes: Buffer }

export interface Query {
  from: From
  /** Ends before the first record with at least this timestamp, milliseconds since 1970. Default Infinity: the end of the log. */
  until?: number
  /** A record matches if one of them does. Default: every record matches. */
  needles?: readonly Needle[]
  /** Default: committed. */
  isolation?: Isolation
  /** Aborts the search. */
  ending: AbortSignal
  /** Most bytes of records that are read at once: more need fewer requests, and more memory. Default: a share of 16 MiB. */
  pieceBytes?: number
  /** Receives matching records in chunks; each call is awaited. Its error fails the search. */
  take: (records: readonly BusRecord[]) => Promise<void>
}

export interface Searched extends TopicPartition {
  /** The searched range: its first offset, and the offset after its last. */
  from: number
  until: number
  /** First offset of the log. */
  start: number
  /** Timestamp of the first searched record, milliseconds since 1970; null if unknown. */
  since: number | null
  /** Number of batches that cannot be read. */
  unreadable: number
}

/** Follows every partition that the topics had when the reader began. */
export interface Reader {
  /** Waits as `Follower.caughtUp` does, for all partitions. */
  caughtUp: Follower['caughtUp']
  /** Grows with every record that was handled: the sum of the partitions' positions. */
  readonly position: number
  close(): Promise<void>
}

/**
 * Exclusive, fenced ownership of one command partition. Records arrive through the SessionListener; the worker reports the
 * outcome of each by offset. One transaction per cycle commits the outcomes, together with the records to publish. After the
 * session is lost every call is harmless: the outcome of a POST still counts if no other process took over.
 */
export interface Session extends Readonly<TopicPartition> {
  /** False once lost, and while the group rebalances. Form no envelope while it is false. */
  readonly open: boolean
  /** False once lost. */
  readonly alive: boolean
  /**
   * Records below this offset may have been answered before: the committed offset had no window, because it was reset or the
   * group is new. Only the results topic knows. 0 if the window is known, and once all of these records are settled.
   */
  readonly uncheckedUntil: number
  /**
   * Reports that the results were searched: no record from this offset on was answered before. The next owner reads this from
   * the checkpoint.
   */
  answeredBefore(offset: number): void
  /** What is not known of earlier owners; null if all is. The next owner reads this from the checkpoint. */
  readonly forgotten: Forgotten | null
  /** Whether an outcome of a POST is to come whose record was deleted. */
  readonly awaitsEarlier: boolean
  /** Reports that some records before this offset cannot be read, so that `forgotten` is not null. */
  forget(before: number): void
  /** Commits these records, and that `forgotten` is null from then on. */
  recollected(records: readonly OutgoingRecord[]): void
  /** What `remember` was told last, by this owner or an earlier one; null if that is not known. */
  readonly memo: string | null
  /** Leaves a short text to the next owner, with the next commit. It asks for no commit. */
  remember(memo: string): void
  /** Commits records that are the outcome of no single offset. */
  add(records: readonly OutgoingRecord[]): void
  /**
   * Commits these records too when the offset is done, whatever its outcome.
   * @param done called once, when the outcome is known
   */
  attach(offset: number, records: readonly OutgoingRecord[], done: () => void): void
  /**
   * Writes intents for these offsets with the next commit.
   * @returns true when they are committed and the POST may begin; false when it must not
   */
  intend(offsets: readonly number[]): Promise<boolean>
  /** Marks the offset as done in the next commit, in one transaction with these records. */
  settle(offset: number, records: OutgoingRecord[]): void
  /**
   * Takes back an intent that is known not to have been sent; the offset is new again. Harmless if `intend` returned false.
   */
  release(offset: number): void
  /**
   * Resolves after the commit of everything settled and released so far, or when the session is lost.
   * @param isUrgent commits at once instead of waiting to share the commit; default false
   */
  committed(isUrgent?: boolean): Promise<void>
  /** Guaranteed memory for unfinished records, however much other partitions use. */
  readonly capacity: Backlog
  /** Memory for unfinished records that is available while the other partitions use no more than now. */
  readonly room: Backlog
  /**
   * Reports the bytes of memory that the decoded form of a record takes until it is settled or shelved. Before the report,
   * the record counts with the largest possible size.
   * @returns bytes that the record now counts for, its raw bytes included
   */
  made(record: BusRecord, bytes: number): number
  /** End of the log at the take-over. */
  readonly endAtTakeOver: number
  /** Whether every record before it was delivered. */
  readonly isCaughtUp: boolean
  /** Whether reading stands still until some unfinished records are settled or shelved. */
  readonly full: boolean
  /** Drops new records from memory to make room for others. The listener must drop them too. */
  shelve(offsets: readonly number[]): void
  /** Reads shelved records again, for the listener's `recalled`. */
  recall(offsets: readonly number[]): void
  /** Whether recalled records are still to arrive. */
  readonly recalling: boolean
  /** Does work that the listener put off. An error of it ends this session alone; after the session, nothing is done. */
  run(work: () => void): void
}

export interface Forgotten {
  /** An earlier owner may have had intents for records below this offset, or records below it are deleted. */
  until: number
  /** Whether there was an earlier owner for sure. */
  owned: boolean
}

/** Records in memory: their number and bytes. */
export interface Backlog {
  records: number
  bytes: number
}

/**
 * Receives the events of owned partitions. No call may block; queue slow work. A call that throws ends its session, which is
 * opened again.
 */
export interface SessionListener {
  /** Partitions were assigned or revoked, whether open or not; `Membership.share` has changed. */
  shareChanged?(): void
  /**
   * The partition is taken over, and its records will come once this resolves. Until then only its place, `alive` and `memo`
   * are known. An error leaves the partition unopened, and it is tried again.
   */
  opening?(session: Session): Promise<void>
  opened(session: Session): void
  /**
   * Delivers records that were handled before: those below the checkpoint, as far as `lookBack` reaches, and those above it
   * that are done. Do not process them.
   */
  history?(session: Session, records: readonly BusRecord[]): void
  /**
   * Delivers records that an earlier session of this process POSTed, and whose outcome is to come. Do not process them unless
   * they arrive again as new.
   */
  inFlight?(session: Session, records: readonly BusRecord[]): void
  /** Delivers new commands in the order of their offsets. Each must be settled in the end. */
  records(session: Session, records: readonly BusRecord[]): void
  /** Delivers shelved records, as requested by `recall`. Each must be settled in the end, or shelved again. */
  recalled?(session: Session, records: readonly BusRecord[]): void
  /** The log lost these offsets for good, or they are skipped. @returns records about it, which are committed with the progress over them */
  lost?(session: Session, ranges: readonly LostRange[]): OutgoingRecord[]
  /** The log now begins at `before`: shelved records before it are lost, and already reported. */
  cut?(session: Session, before: number): void
  /**
   * Delivers records that another process left with an intent: perhaps sent. Never POST them on this path.
   * @param since earliest time at which one of their POSTs can have begun, by the other process's clock, ms since 1970; 0 if
   *   unknown
   */
  inDoubt(session: Session, records: readonly BusRecord[], since: number): void
  /** `open` is now false, for the partition's hand-over. Release intents whose POST has not begun. */
  held?(session: Session): void
  /** `open` is true again after a rebalance that kept the partition. */
  resumed(session: Session): void
  closed(session: Session): void
  /** The worker cannot continue: the process must exit. */
  fatal(error: Error): void
}

/** Offsets that the log lost, or that are skipped, before they were done. */
export interface LostRange {
  /**
   * unsent: records that were read and not sent. unread: never read and not sent; some may be no records, but markers of
   * transactions. perhapsSent: another process left an intent. unchecked: perhaps answered before, or no records. skipped: the
   * same, and still in the log, but somebody has committed a later offset.
   */
  kind: 'unsent' | 'unread' | 'perhapsSent' | 'unchecked' | 'skipped'
  first: number
  last: number
}

/** What the records of a topic are, for reports about lost ones. */
export type RecordsOf = 'commands' | 'doubts' | 'messages'

/** Membership in the group that shares the command topics' partitions. */
export interface Membership {
  /** Whether POSTs may begin: no other process can own the partitions yet, even if the machine was suspended. */
  hasLease(): boolean
  /** Number of owned partitions and of all partitions; their ratio is the process's share of an account's rate. */
  share(): { owned: number; total: number }
  /** State of each owned partition, for metrics. */
  sessions(): Iterable<SessionState>
  /** Why the coordinator cannot be reached now; null if it can. Until it can, outcomes wait for their commit. */
  trouble(): string | null
  /**
   * Topics and partitions that are not read, each with the reason: topics whose other partitions nobody owns, and owned
   * partitions that have been in trouble for some seconds. Empty if everything is read.
   */
  unread(): readonly string[]
  /**
   * Finishes what is in flight, commits, and leaves the group. No POST may begin after the call.
   * @param finishMs longest time to finish; default: the drain time
   */
  leave(finishMs?: number): Promise<void>
}

/** State of one owned partition, for metrics. */
export interface SessionState extends TopicPartition {
  /** Used share of the window's 8,192 offsets, 0 to 1. */
  windowUsed: number
  /** Records between the committed offset and the end of the partition, as last seen; also while paused. */
  lag: number
  /** Whether a session is open, so that commands can be sent. */
  open: boolean
  /** Whether anything waits for its commit. */
  committing: boolean
}

export interface TopicLook {
  /** Changes when the topic is deleted and created again. Empty if the bus does not know it. */
  id: string
  partitions: number
  /** Partitions without a leader: they can neither be read nor written. */
  leaderless: number[]
}

/** What busgate does with a bus. Services see only `OpenedBus`. */
export interface Bus extends OpenedBus {
  /**
   * Opens a publisher outside of transactions.
   * @param line `apart`: over connections of its own, so that its writes delay no commit
   */
  publisher(line?: 'apart'): Promise<Publisher>
  /**
   * Opens a publisher whose calls are transactions: all records of a call become readable, or none. Fences the publisher of
   * the group that was opened under this name before.
   */
  atomicPublisher(name: string): Promise<Pick<Publisher, 'publish'>>
  /**
   * Joins the group of the settings and opens one session per assigned partition.
   * @throws Error when the group refuses this member; BusUnavailable, also while other members keep it out
   */
  join(topics: readonly string[], listener: SessionListener, options?: JoinOptions): Promise<Membership>
  /**
   * Delivers a partition's records until closed; survives broker outages.
   * @param from the first record with at least this timestamp (ms since 1970), an offset, the beginning, or the end
   * @param onRecords while its promise is pending, this partition is not read further; when it rejects, the same records are
   *   delivered again
   * @param isolation default: committed
   * @throws Error when the partition does not exist, or the client may not read it
   */
  follow(tp: TopicPartition, from: From, onRecords: OnRecords, isolation?: Isolation): Promise<Follower>
  /**
   * Reads the topics together with the other members of a group, each record at least once: a member that lost a partition is
   * not fenced. `close` commits the offsets of handled records and leaves the group.
   * @throws Error when the group refuses this member; BusUnavailable
   */
  readInGroup(topics: readonly string[], options: GroupReadOptions): Promise<Pick<Reader, 'close'>>
  /** Follows all partitions of the topics. @throws Error when one of the topics does not exist */
  read(topics: readonly string[], from: From, onRecords: RecordsHandler, isolation?: Isolation): Promise<Reader>
  /**
   * Searches the current content of a partition for records that contain certain bytes.
   * @throws Error when the partition does not exist, or the client may not read it
   */
  search(tp: TopicPartition, query: Query): Promise<Searched>
  /**
   * Reads single committed records of a partition.
   * @param offsets in ascending order
   * @returns those that exist, at least one if it can be read; those from `readable` on were not read
   */
  recordsAt(tp: TopicPartition, offsets: readonly number[]): Promise<{ records: BusRecord[]; readable: number }>
  /**
   * Committed offset and metadata of a group on each of the partitions; null where nothing is committed. Waits for transactions
   * that are about to commit an offset. @throws Error when one stays open
   */
  progress(
    groupId: string,
    tps: readonly TopicPartition[],
  ): Promise<({ offset: number; metadata: string | null } | null)[]>
  /** Number of partitions of each topic. Topics that do not exist are left out. */
  partitions(topics: readonly string[]): Promise<Map<string, number>>
  /** Current state of a topic; null if it does not exist or is hidden from this client. @throws BusUnavailable */
  lookAt(topic: string): Promise<TopicLook | null>
  /**
   * The timestamp of each partition's first record, milliseconds since 1970; null where there is none, or where it is unknown
   * now.
   */
  firstTimes(tps: readonly TopicPartition[]): Promise<(number | null)[]>
  /** The cleanup.policy of these topics, as far as this client may know. */
  cleanup(topics: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** Partitions of this process that an open transaction has blocked for half a minute. */
  blocked(): readonly BlockedPartition[]
  /** Aborted, with an error that says so, once the bus is closed. */
  readonly closing: AbortSignal
  /** Leaves the groups and closes all connections. */
  close(): Promise<void>
}

/** The reason of `closing`. */
export const busIsClosed = (): Error => new Error('the bus is closed: close first what uses it')

export interface JoinOptions {
  /** Suffix of the group id, for a second group with its own committed offsets. */
  group?: string
  /** Number of offsets below the checkpoint that a topic's sessions read again, for the listener's `history`. Default 0. */
  lookBack?: (topic: string) => number
  /**
   * Whether all records of a topic are read if its committed offset has no window, even if that was set by somebody else.
   * Default: reading begins at that offset, or by `startFrom`.
   */
  readsAll?: (topic: string) => boolean
  /** What a topic's records are. Default: commands. */
  recordsOf?: (topic: string) => RecordsOf
  /** If the log ends before the checkpoint, reading begins this many milliseconds ago. Default: at the log's beginning. */
  lookBackMs?: number
  /**
   * What all processes of the group must agree on: values by setting, without secrets. A process with other values is kept out
   * (BusUnavailable) until the others have left.
   */
  installation?: Readonly<Record<string, string>>
  /** Where to begin without a checkpoint, instead of kafka.startFrom. */
  startFrom?: 'earliest' | 'latest' | 'fail'
}

/**
 * Where to begin. A number is a timestamp, ms since 1970. For an offset that the log does not hold, reading begins at the
 * log's beginning.
 */
export type From = number | 'earliest' | 'latest' | { offset: number }

export type OnRecords = (records: readonly BusRecord[]) => void | Promise<void>

export type RecordsHandler = (from: TopicPartition, records: readonly BusRecord[]) => void | Promise<void>
