import type { BusRecord, Session } from '../../bus/port.ts'
import { appendedBy } from '../../bus/record-time.ts'
import { windowSize } from '../../bus/session/window.ts'
import { type Clock, skewMs } from '../../clock.ts'
import { isAccountName } from '../../config/index.ts'
import {
  type Command,
  type CommandReading,
  type InvalidCommand,
  isInvalid,
  memoryOf,
  subjectOf,
  withoutContent,
} from '../../records/command.ts'
import { type DeadLetterReason, internalError, replayedRecordHeader } from '../../records/dead-letter.ts'
import type { Decoded, Decoder } from '../../records/decoder.ts'
import type { SendCommand } from '../../records/generated.ts'
import { originalOf } from '../../records/later.ts'
import type { Origin, ResultDetails, WriteResult } from '../../records/result.ts'
import { sealedIn } from '../../records/sealed.ts'
import { reportFault } from '../../telemetry/contain.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { type TraceContext, traceOf } from '../../telemetry/trace.ts'
import type { DoubtCause, outcomeCodes } from '../../vocabulary/lists.ts'
import { concludeExpired, provedForAnother } from '../conclude.ts'
import { waitOf } from '../later/wait.ts'
import type { WaitingPartition } from '../later/waiting-partition.ts'
import { type Expiry, type ExpiryRules, expiry, type Pending } from '../pending.ts'
import { ResultCounts } from '../result-counts.ts'
import type { Settler } from '../settler.ts'
import { DeadLetterWriter, decodeRecord } from './dead-letter-writer.ts'
import { type EarlierEnds, type IdUse, type RepeatedId, RepeatQueue } from './earlier-ends.ts'
import { keyNotFound, type Opened, type Opener, OpeningQueue, type SealedRecord } from './opener.ts'
import type { Subject } from './prior-answers.ts'
import { RecentIds, repeatWindow, UnreadIds } from './recent-ids.ts'
import { LookupQueue, type ResultsLookup } from './results-lookup.ts'
import { SchemaWait, type SchemaWaits } from './schema-wait.ts'
import { TurnQueue, type Turns } from './turns.ts'
import type { PartitionHold, UnknownAccounts } from './unknown-accounts.ts'

/** Options of the intake of commands and of doubts. */
export interface RecordIntakeOptions {
  decoder: Decoder<SendCommand>
  schemaWaits: SchemaWaits
  readCommand: (value: SendCommand, trace: TraceContext | null, flaw?: string) => CommandReading
  opener: Opener
  settler: Settler
  writeResult: WriteResult
  deadLetterTopic: string
  maxAgeMs: number
  /** Used if the session does not know which records were answered or resolved before. */
  lookup: Pick<ResultsLookup, 'ask' | 'answersFor'>
  turns: Turns
  clock: Clock
  telemetry: Telemetry
}

export interface CommandIntakeOptions extends RecordIntakeOptions, ExpiryRules {
  /** Why a valid command cannot be sent with this worker's settings, with what to do; null if it can. */
  objection: (command: Command) => Objection | null
  /** Why a command cannot wait as long as it says; null if it can. */
  horizon: (command: Command) => Objection | null
  /** Finds whether earlier records used a repeated id. */
  earlierEnds: Pick<EarlierEnds, 'usesOf'>
  /** Holds back commands of accounts that this process does not know. */
  unknownAccounts: UnknownAccounts
  /** Called with commands that may be sent. */
  ready: (pendings: Pending[]) => void
}

/** Why a command is INVALID. */
export interface Objection {
  errorCode: (typeof outcomeCodes)['INVALID'][number]
  error: string
}

interface Delivered {
  /**
   * new: to be sent; recalled: the same, but its id is already known; doubted: perhaps sent by an earlier owner; past: finished,
   * only its id is remembered; in flight: the same, and it uses its id.
   */
  kind: 'new' | 'recalled' | 'doubted' | 'past' | 'in flight'
  /** For doubted records: earliest time at which one of their POSTs can have begun, milliseconds since 1970; 0 if unknown. */
  postedSince: number
  /** For records with a repeated id: whether an earlier record used the id. Absent until it was looked up. */
  idUse?: IdUse
  /** What its sealed content holds. Absent until it is open, or if it is in the clear. */
  opened?: Opened
}

/** A record that waits for its schema or for its earlier answer. */
interface Waiting {
  record: BusRecord
  delivered: Delivered
}

type Readable = Extract<Decoded<SendCommand>, { ok: true }>

/** The outcome of records that are handled together. */
interface Step {
  /** Milliseconds since 1970. */
  now: number
  /** Monotonic milliseconds, rounded: a fraction would be a heap number in each command. */
  readyAt: number
  counts: ResultCounts
  deadLetters: DeadLetterWriter
  /** Commands to send. */
  pendings: Pending[]
}

/**
 * Turns the records of one session into commands that may be sent. Settles all others: dead letters, INVALID, EXPIRED,
 * DUPLICATE, and commands that an earlier owner may have sent.
 */
export class CommandIntake {
  readonly #options: CommandIntakeOptions
  readonly #session: Session
  readonly #waiting: WaitingPartition
  readonly #recent: RecentIds
  readonly #unread = new UnreadIds()
  readonly #queue: TurnQueue<Waiting>
  readonly #wait: SchemaWait<Waiting>
  readonly #lookups: LookupQueue<Waiting>
  readonly #openings: OpeningQueue<Waiting>
  readonly #repeats: RepeatQueue<Waiting & { repeated: RepeatedId }>
  readonly #unknown: PartitionHold
  /** When the oldest finished record was appended, milliseconds since 1970. */
  #pastSince = Number.POSITIVE_INFINITY
  /**
   * Start of the age of records whose timestamp is unusable, since they may be shelved and read again. By position in the
   * window, which holds all unsettled records.
   */
  readonly #sinceRead = new Map<number, number>()

  constructor(session: Session, waiting: WaitingPartition, options: CommandIntakeOptions) {
    this.#session = session
    this.#waiting = waiting
    waiting.onUnused = (account, id, offsets) => {
      for (const offset of offsets) this.#recent.free(account, id, offset)
    }
    this.#options = options
    this.#recent = new RecentIds(repeatWindow)
    this.#unknown = options.unknownAccounts.of(session)
    this.#queue = new TurnQueue(session, options.turns, waiting => this.#readAll(waiting))
    const again = (waiting: readonly Waiting[]) => this.#queue.add(waiting)
    this.#wait = new SchemaWait({ ...options, session, again })
    this.#lookups = new LookupQueue({ ...options, session, again })
    const openedAgain = (items: readonly (Waiting & { opened: Opened })[]) =>
      again(items.map(({ record, delivered, opened }) => ({ record, delivered: { ...delivered, opened } })))
    this.#openings = new OpeningQueue({ ...options, session, patient: true, again: openedAgain })
    this.#repeats = new RepeatQueue(session, options.earlierEnds, items =>
      again(items.map(({ item: { record, delivered }, use }) => ({ record, delivered: { ...delivered, idUse: use } }))),
    )
  }

  take(records: readonly BusRecord[], kind: Delivered['kind'], postedSince = 0): void {
    const now = this.#options.clock.now()
    if (kind === 'new' || kind === 'doubted') for (const record of records) this.#noteAge(record, now)
    const delivered = { kind, postedSince }
    this.#waiting.deliver(records, kind === 'past')
    this.#queue.add([...this.#wait.takeBack(), ...records.map(record => ({ record, delivered }))])
    const last = records.at(-1)
    if (last) this.#unknown.readTo(last.offset)
  }

  #readAll(waiting: readonly Waiting[]): void {
    const step = this.#begin()
    for (const { record, delivered } of waiting) this.#read(record, delivered, step)
    this.#end(step)
  }

  #noteAge({ offset, timestamp }: BusRecord, now: number): void {
    const since = appendedBy(timestamp, now)
    if (since === timestamp) this.#sinceRead.delete(offset % windowSize)
    else this.#sinceRead.set(offset % windowSize, since)
  }

  #begin(): Step {
    const { clock, deadLetterTopic } = this.#options
    return {
      now: clock.now(),
      readyAt: Math.floor(clock.monotonic()),
      counts: new ResultCounts(),
      deadLetters: new DeadLetterWriter(deadLetterTopic, this.#session),
      pendings: [],
    }
  }

  #end({ pendings, counts, deadLetters }: Step): void {
    const { ready, telemetry } = this.#options
    if (pendings.length > 0) ready(pendings)
    if (counts.isEmpty && deadLetters.isEmpty) return
    void this.#session.committed().then(() => {
      if (!this.#session.alive) return
      counts.announce(telemetry)
      deadLetters.announce(telemetry)
    })
  }

  /** The boundary around one record: an error of ours, too, is the outcome of this record alone. */
  #read(record: BusRecord, delivered: Delivered, step: Step): void {
    try {
      this.#handle(record, delivered, step)
    } catch (error) {
      const { topic, partition } = this.#session
      reportFault(this.#options.telemetry, 'command', { topic, partition, offset: record.offset }, error)
      this.#refuse(record, delivered, internalError, step)
    }
  }

  #handle(record: BusRecord, delivered: Delivered, step: Step): void {
    const copy = this.#waiting.copies.at(record.offset)
    if (copy?.isOmitted) {
      this.#waiting.settleOmitted(record.offset, copy, step.counts)
      return
    }
    const decoded = decodeRecord(this.#options.decoder, record)
    if (decoded.ok) this.#unread.remove(record)
    else this.#noteUnread(record, delivered)
    if (!decoded.ok && 'pending' in decoded) this.#wait.add(decoded.pending, { record, delivered })
    else if (!decoded.ok) this.#refuse(record, delivered, decoded.error, step)
    else if (delivered.kind === 'doubted') {
      const { postedSince } = delivered
      this.#doubt(record, decoded.value, { cause: 'taken_over', postedSince }, step)
    } else this.#admit(record, delivered, decoded, step)
  }

  /** Remembers the id of a record that cannot be decoded, unless nobody can have sent it. */
  #noteUnread(record: BusRecord, { kind }: Delivered): void {
    if (kind === 'past') this.#addUnread(record, false)
    else if (kind !== 'new' || record.offset < this.#session.uncheckedUntil) this.#addUnread(record, true)
  }

  #addUnread(record: BusRecord, isInUse: boolean): void {
    if (this.#unread.add(record, isInUse)) this.#pastSince = Math.min(this.#pastSince, record.timestamp)
  }

  /** Settles a record without a command with a dead letter, which says if it was perhaps sent. */
  #refuse(record: BusRecord, delivered: Delivered, reason: DeadLetterReason, { deadLetters }: Step): void {
    const write = (perhapsSent: boolean) => {
      if (perhapsSent) this.#addUnread(record, false)
      else {
        this.#unread.remove(record)
        this.#freeCopy(record)
      }
      deadLetters.writeFor(record.offset, this.#originOf(record), { ...reason, perhapsSent })
    }
    if (isOver(delivered)) return
    const intercepted = this.#intercepts(record, delivered)
    if (intercepted === 'answered') this.#addUnread(record, false)
    else if (intercepted === null) write(delivered.kind === 'doubted' || this.#wasPerhapsInFlight(record))
  }

  /** The command's own record, for one that has waited; the record itself for others. */
  #originOf(record: BusRecord): Origin {
    const { topic, partition } = this.#session
    const original = this.#waiting.copies.originalOf(record)
    return original ? { topic, partition, record: original, copyAt: record.offset } : { topic, partition, record }
  }

  /** Moves a command that an earlier owner perhaps sent to the doubts, whatever this process would say of its content. */
  #doubt(
    record: BusRecord,
    value: SendCommand,
    { cause, postedSince }: { cause: DoubtCause; postedSince?: number },
    step: Step,
  ): void {
    const subject = subjectOf(value, traceOf(record.headers))
    this.#recent.take(subject.account, subject.id, record.offset)
    const pending = this.#pending(withoutContent(subject), record, step)
    if (postedSince) pending.postedSince = postedSince
    this.#options.settler.doubt(pending, step.now, cause, step.counts)
  }

  /**
   * Doubts a command of which only id and account are known, unless another record has used its id: an earlier one, or a later
   * one, which it let pass while it waited for its key. The gateway could not tell which of them it knows.
   */
  #doubtForgotten({ record, delivered }: Waiting, value: SendCommand, step: Step): void {
    const command = withoutContent(subjectOf(value, traceOf(record.headers)))
    const usedAt = this.#recent.usedAt(command.account, command.id, record.offset)
    const isOvertaken = delivered.kind !== 'recalled' && usedAt !== null && usedAt > record.offset
    if (isOvertaken)
      this.#options.settler.settle(this.#pending(command, record, step), provedForAnother(1), step.counts)
    else if (delivered.kind === 'recalled' || !this.#isRepeat(command, record, delivered, step))
      this.#doubt(record, value, { cause: 'progress_reset' }, step)
  }

  /**
   * Whether a killed worker may have been sending a record without an answer when the progress of the group was discarded.
   */
  #wasPerhapsInFlight({ offset }: Pick<BusRecord, 'offset'>): boolean {
    const { forgotten, uncheckedUntil } = this.#session
    if (forgotten === null || offset >= Math.min(forgotten.until, uncheckedUntil)) return false
    if (this.#waiting.copies.at(offset)) return true
    return this.#options.lookup.answersFor(this.#session, offset)?.isNearAnswer(this.#session, offset) ?? false
  }

  /** Whether an earlier record has used the id, or waits: then nobody has sent this one. */
  #isTaken({ account, id }: Pick<Command, 'account' | 'id'>, { offset }: BusRecord): boolean {
    if (this.#waiting.copies.at(offset)) return false
    const usedAt = this.#recent.usedAt(account, id, offset)
    return this.#waiting.hasId(account, id, offset) || (usedAt ?? offset) < offset
  }

  /** Whether a command is in doubt because its progress was reset. No worker could ever resolve one whose account nobody can have. */
  #isForgotten({ account }: Pick<Command, 'account'>, record: BusRecord): boolean {
    return isAccountName(account) && this.#wasPerhapsInFlight(record)
  }

  /** Settles a command unless it may be sent. Opens it first, unless its id and account suffice. */
  #admit(record: BusRecord, delivered: Delivered, { value, flaw }: Readable, step: Step): void {
    const { kind, opened } = delivered
    if (kind === 'new' && this.#wasMoved(record, value)) return
    const trace = traceOf(record.headers)
    const sealed = sealedIn(value)
    const subject = sealed && subjectOf(value, trace)
    if (opened && 'fault' in opened) throw opened.fault
    const isOpen = opened !== undefined && !('lacksKey' in opened)
    const command = isOpen ? opened : subject ? withoutContent(subject) : this.#options.readCommand(value, trace, flaw)
    const intercepted = isOver(delivered) ? null : this.#intercepts(record, delivered, command)
    // content that no worker could send need not be opened
    const mustOpen = sealed !== null && !isOpen && isAccountName(value.account)
    if (mustOpen && !isOver(delivered) && intercepted === null) {
      this.#open({ record, delivered }, { value, sealed, trace, ...(flaw && { flaw }) }, step)
      return
    }
    if (isInvalid(command)) {
      if (isOver(delivered) || intercepted) return
      if (!this.#isTaken(command, record) && this.#isForgotten(command, record))
        this.#doubtForgotten({ record, delivered }, value, step)
      else this.#invalid(command, record, step.counts)
      return
    }
    const { account, id } = command
    if (kind === 'in flight') this.#recent.take(account, id, record.offset)
    else if (intercepted === 'waits') this.#recent.add(account, id, record.offset)
    else if (kind === 'past' || intercepted === 'answered') this.#addPast(command, record)
    else if (kind === 'recalled' || !this.#isRepeat(command, record, delivered, step))
      this.#judge(command, record, value, step)
  }

  /** Opens a sealed command, or settles it: a repeated id needs no key. */
  #open({ record, delivered }: Waiting, content: SealedRecord, step: Step): void {
    const { value, trace } = content
    const { opened, kind } = delivered
    const isRepeated = kind !== 'recalled' && this.#isTaken(value, record)
    if (isRepeated) this.#repeated(withoutContent(subjectOf(value, trace)), record, step)
    else if (opened && 'lacksKey' in opened) this.#refuseLocked(record, delivered, value, opened.lacksKey, step)
    else this.#openings.add({ record, delivered }, content)
  }

  /** Settles a record whose key is missing: once there is one, a replay sends it. What was perhaps sent needs no key. */
  #refuseLocked(record: BusRecord, delivered: Delivered, value: SendCommand, kid: string, step: Step): void {
    if (this.#wasPerhapsInFlight(record)) this.#doubtForgotten({ record, delivered }, value, step)
    else this.#refuse(record, delivered, keyNotFound(kid), step)
  }

  #addPast({ account, id }: Command, { offset, timestamp }: BusRecord): void {
    this.#recent.addPast(account, id, offset)
    this.#pastSince = Math.min(this.#pastSince, timestamp)
  }

  /**
   * Settles a record whose command waits already, or has waited: the progress was reset. A copy that waits for its outcome is
   * none.
   */
  #wasMoved(record: BusRecord, { id }: SendCommand): boolean {
    const isMoved =
      this.#waiting.holds(record.offset, id) || this.#waiting.copies.formerOf(record, id)?.isMoved === true
    if (isMoved) this.#lookups.settle(record.offset)
    return isMoved
  }

  /** Settles a repeated command, or lets it wait until it is known whether an earlier record used its id. */
  #isRepeat(command: Command, record: BusRecord, delivered: Delivered, step: Step): boolean {
    const { account, id } = command
    const { topic, partition } = this.#session
    if (this.#waiting.copies.at(record.offset)) {
      this.#recent.take(account, id, record.offset)
      return false
    }
    const isInUse = this.#waiting.hasId(account, id) || this.#unread.isInUse(id)
    const earlier = isInUse ? 'in use' : this.#unread.lastWith(id, this.#recent.add(account, id, record.offset))
    if (earlier === null) return false
    const { idUse } = delivered
    const finished = earlier === 'in use' ? null : earlier
    const replayOf = replayedIn(record, this.#session)
    // another record with the id may have been sent, or perhaps sent
    const isSurelyUnused = idUse === 'unused' || (finished?.isOnly && finished.offset === replayOf)
    if (finished && isSurelyUnused) {
      this.#recent.take(account, id, record.offset)
      return false
    }
    if (finished && idUse === undefined && (!finished.hasUsedId || replayOf !== null)) {
      const { offset: earlier, isOnly } = finished
      const repeated = { topic, partition, id, account, earlier, isOnly, replayOf }
      this.#repeats.add({ record, delivered, repeated }, this.#pastSince)
    } else {
      if (finished) this.#recent.free(account, id, record.offset)
      if (finished && idUse === 'used') this.#recent.noteUse(account, id, finished.offset)
      this.#repeated(command, record, step, idUse === 'unknown' ? duplicateOfUnknown : duplicate)
    }
    return true
  }

  #repeated(command: Command, record: BusRecord, step: Step, details = duplicate): void {
    this.#options.settler.settle(this.#pending(command, record, step), details, step.counts)
  }

  /** Settles a command that must not be sent; all others are ready. */
  #judge(command: Command, record: BusRecord, value: SendCommand, step: Step): void {
    const { objection, settler } = this.#options
    const pending = this.#pending(command, record, step)
    if (this.#waits(pending, step)) return
    if (this.#unknown.takes(command.account, record.offset, pending.since)) return
    if (this.#isForgotten(command, record)) {
      this.#doubt(record, value, { cause: 'progress_reset' }, step)
      return
    }
    const why = objection(command)
    const details = why ? invalid(why) : expired(pending, expiry(pending, step.now, this.#options))
    if (details) settler.settle(pending, details, step.counts)
    else step.pendings.push(pending)
  }

  /** Moves a command to where it waits, if its time has not come or its campaign or tenant is paused. */
  #waits(pending: Pending, { now, counts }: Step): boolean {
    const { controls, horizon, settler, maxAgeMs } = this.#options
    const { command } = pending
    if (!isAccountName(command.account)) return false // no worker will ever send it
    const notBefore = command.notBefore ?? 0
    const isEarly = notBefore > now
    if (!isEarly && !controls.isSetAside(command)) return false
    // well before its time it was sent by nobody
    const isSurelyEarly = notBefore > now + skewMs
    if (!isSurelyEarly && this.#wasPerhapsInFlight(pending)) return false
    const why = isEarly ? horizon(command) : null
    const details = why ? invalid(why) : expired(pending, expiry(pending, now, this.#options))
    if (details) settler.settle(pending, details, counts)
    else this.#waiting.wait(pending.offset, pending, ...waitOf(pending, maxAgeMs))
    return true
  }

  #pending(command: Command, record: BusRecord, { now, readyAt }: Step): Pending {
    const { topic, partition } = this.#session
    const copy = this.#waiting.copies.at(record.offset)
    const appendedAt = copy?.facts.since ?? this.#sinceRead.get(record.offset % windowSize) ?? record.timestamp
    const since = Math.max(appendedAt, command.notBefore ?? 0)
    const pending: Pending = {
      command,
      topic,
      partition,
      record: this.#waiting.copies.originalOf(record) ?? record,
      appendedAt,
      session: this.#session,
      offset: record.offset,
      heldBytes: this.#session.made(record, memoryOf(command)),
      since,
      readyAt,
      lingersSince: readyAt - Math.max(0, now - since),
      attempts: 0,
      doubted: false,
      packed: false,
      over: false,
      idUnused: this.#idUnused,
    }
    const otherAt = copy ? record.offset : this.#waiting.copies.strayOf(record, command.id)
    if (otherAt !== null) pending.copyAt = otherAt
    return pending
  }

  readonly #idUnused = ({ command: { account, id }, offset }: Pending) => this.#recent.free(account, id, offset)

  /**
   * Lets the record wait for its earlier answer, or settles it if it has one. One that an earlier owner may have sent is in
   * doubt, whatever the results say.
   * @returns null if it is new
   */
  #intercepts(record: BusRecord, delivered: Delivered, subject?: Subject): 'waits' | 'answered' | null {
    if (delivered.kind === 'doubted' || record.offset >= this.#session.uncheckedUntil) return null
    if (this.#waiting.copies.at(record.offset)) return null // the table says that it has no answer
    const former = this.#waiting.copies.formerOf(record, subject?.id)
    const original = former && originalOf(former.key, former.facts, record)
    const told = subject ?? (former && { id: former.key.id, account: former.facts.account })
    return this.#lookups.intercepts(
      { record, delivered },
      answers =>
        told !== null &&
        [record, ...(original ? [original] : [])].some(({ offset }) => answers.isAnswered(this.#session, offset, told)),
      original,
    )
  }

  /** The record may be a copy that ends without having used its id, which it has had since it began to wait. */
  #freeCopy({ offset }: BusRecord): void {
    const copy = this.#waiting.copies.at(offset)
    if (!copy) return
    const { key, facts } = copy
    for (const at of [key.offset, facts.copyAt ?? key.offset]) this.#recent.free(facts.account, key.id, at)
  }

  #invalid(command: InvalidCommand, record: BusRecord, counts: ResultCounts): void {
    const details = invalid(command)
    this.#freeCopy(record)
    this.#session.settle(record.offset, [this.#options.writeResult(command, this.#originOf(record), details)])
    counts.add(command, details)
  }
}

const duplicate: ResultDetails = {
  outcome: 'DUPLICATE',
  attempts: 0,
  errorCode: 'DUPLICATE_ID',
  error: 'the id was seen on this partition before',
}

const duplicateOfUnknown: ResultDetails = {
  ...duplicate,
  error: 'the id was seen on this partition before, and what became of the earlier record cannot be found',
}

/** Whether nothing is to be done for the record. */
const isOver = ({ kind }: Delivered): boolean => kind === 'past' || kind === 'in flight'

/** Offset of the record of the session's partition of which the record is a replay; null if it is none. */
function replayedIn({ headers }: BusRecord, { topic, partition }: Session): number | null {
  const [, offset] = String(headers[replayedRecordHeader] ?? '').split(`${topic}/${partition}@`)
  return offset ? Number(offset) : null
}

const invalid = ({ errorCode, error }: Objection): ResultDetails => ({
  outcome: 'INVALID',
  attempts: 0,
  errorCode,
  error,
})

const expired = (pending: Pending, why: Expiry | null): ResultDetails | null => why && concludeExpired(pending, why)
