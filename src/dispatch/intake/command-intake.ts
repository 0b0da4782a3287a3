import type { BusRecord, Session } from '../../bus/port.ts'
import { appendedBy } from '../../bus/record-time.ts'
import { windowSize } from '../../bus/session/window.ts'
import type { Clock } from '../../clock.ts'
import {
  type Command,
  type CommandReading,
  type InvalidCommand,
  isInvalid,
  memoryOf,
  subjectOf,
  unsendable,
} from '../../records/command.ts'
import { type DeadLetterReason, internalError } from '../../records/dead-letter.ts'
import type { Decoded, Decoder } from '../../records/decoder.ts'
import type { SendCommand } from '../../records/generated.ts'
import { IdTable } from '../../records/id-table.ts'
import type { ResultDetails, WriteResult } from '../../records/result.ts'
import { reportFault } from '../../telemetry/contain.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { type TraceContext, traceOf } from '../../telemetry/trace.ts'
import { concludeExpired, type Outbox, ResultCounts } from '../outbox.ts'
import { type Expiry, type ExpiryRules, expiry, type Pending } from '../pending.ts'
import { DeadLetterWriter, decodeRecord } from './dead-letter-writer.ts'
import type { Subject } from './prior-answers.ts'
import { LookupQueue, type ResultsLookup } from './results-lookup.ts'
import { SchemaWait, type SchemaWaits } from './schema-wait.ts'

/** Options of the intake of commands and of doubts. */
export interface IntakeOptions {
  decoder: Decoder<SendCommand>
  schemaWaits: SchemaWaits
  readCommand: (value: SendCommand, trace: TraceContext | null, flaw?: string) => CommandReading
  outbox: Outbox
  writeResult: WriteResult
  deadLetterTopic: string
  maxAgeMs: number
  /** Used if the session does not know which records were answered or resolved before; null to treat all as new. */
  lookup: ResultsLookup | null
  clock: Clock
  telemetry: Telemetry
}

export interface CommandIntakeOptions extends IntakeOptions, ExpiryRules {
  /** Why a valid command cannot be sent with this worker's settings, with what to do; null if it can. */
  objection: (command: Command) => string | null
  /** Number of ids of the partition to remember. */
  dedupeWindow: number
  /** Called with commands that may be sent. */
  ready: (pendings: Pending[]) => void
}

interface Delivered {
  /**
   * new: to be sent; recalled: the same, but its id is already known; doubted: perhaps sent by an earlier owner; past: only its
   * id is remembered.
   */
  kind: 'new' | 'recalled' | 'doubted' | 'past'
  /** For doubted records: earliest time at which one of their POSTs can have begun, milliseconds since 1970; 0 if unknown. */
  postedSince: number
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
  readonly #recent: RecentIds
  readonly #wait: SchemaWait<Waiting>
  readonly #lookups: LookupQueue<Waiting>
  /**
   * Start of the age of records whose timestamp is unusable, since they may be shelved and read again. By position in the
   * window, which holds all unsettled records.
   */
  readonly #sinceRead = new Map<number, number>()

  constructor(session: Session, options: CommandIntakeOptions) {
    this.#session = session
    this.#options = options
    this.#recent = new RecentIds(options.dedupeWindow)
    const again = (waiting: readonly Waiting[]) => {
      const step = this.#begin()
      for (const { record, delivered } of waiting) this.#read(record, delivered, step)
      this.#end(step)
    }
    this.#wait = new SchemaWait({ ...options, session, again })
    this.#lookups = new LookupQueue({ ...options, session, again })
  }

  take(records: readonly BusRecord[], kind: Delivered['kind'], postedSince = 0): void {
    const step = this.#begin()
    for (const { record, delivered } of this.#wait.takeBack()) this.#read(record, delivered, step)
    const delivered = { kind, postedSince }
    for (const record of records) {
      if (kind === 'new' || kind === 'doubted') this.#noteAge(record, step.now)
      this.#read(record, delivered, step)
    }
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
    const decoded = decodeRecord(this.#options.decoder, record)
    if (!decoded.ok && 'pending' in decoded) this.#wait.add(decoded.pending, { record, delivered })
    else if (!decoded.ok) this.#refuse(record, delivered, decoded.error, step)
    else if (delivered.kind === 'doubted') this.#doubt(record, delivered, decoded, step)
    else this.#admit(record, delivered, decoded, step)
  }

  /** Settles a record without a command with a dead letter, which says if it was perhaps sent. */
  #refuse(record: BusRecord, delivered: Delivered, reason: DeadLetterReason, { deadLetters }: Step): void {
    if (delivered.kind === 'doubted') deadLetters.write(record, { ...reason, perhapsSent: true })
    else if (delivered.kind !== 'past' && !this.#intercepts(record, delivered)) deadLetters.write(record, reason)
  }

  /** Moves a command that an earlier owner perhaps sent to the doubts, whatever this process would say of its content. */
  #doubt(record: BusRecord, { postedSince }: Delivered, { value }: Readable, step: Step): void {
    const subject = subjectOf(value, traceOf(record.headers))
    this.#recent.add(subject.account, subject.id, record.offset)
    const pending = this.#pending(unsendable(subject), record, step)
    if (postedSince > 0) pending.postedSince = postedSince
    this.#options.outbox.doubt(pending, step.now, 'taken_over', step.counts)
  }

  /** Settles a command unless it may be sent. */
  #admit(record: BusRecord, delivered: Delivered, { value, flaw }: Readable, step: Step): void {
    const { kind } = delivered
    const { readCommand, objection, outbox } = this.#options
    const command = readCommand(value, traceOf(record.headers), flaw)
    if (isInvalid(command)) {
      if (kind !== 'past' && !this.#intercepts(record, delivered, command)) this.#invalid(command, record, step.counts)
      return
    }
    if (kind === 'past' || this.#intercepts(record, delivered, command)) {
      this.#recent.addPast(command.account, command.id, record.offset)
      return
    }
    const known = kind !== 'recalled' && this.#recent.add(command.account, command.id, record.offset)
    const pending = this.#pending(command, record, step)
    const details = known
      ? duplicate
      : (problem(objection(command)) ?? expired(pending, expiry(pending, step.now, this.#options)))
    if (details) outbox.settle(pending, details, step.counts)
    else step.pendings.push(pending)
  }

  #pending(command: Command, record: BusRecord, { now, readyAt }: Step): Pending {
    const { topic, partition } = this.#session
    const since = this.#sinceRead.get(record.offset % windowSize) ?? record.timestamp
    return {
      command,
      topic,
      partition,
      record,
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
    }
  }

  /**
   * Lets the record wait for its earlier answer, or settles it if it has one. One that an earlier owner may have sent is in
   * doubt, whatever the results say.
   * @returns whether it waits or is settled
   */
  #intercepts(record: BusRecord, delivered: Delivered, subject?: Subject): boolean {
    if (delivered.kind === 'doubted' || record.offset >= this.#session.uncheckedUntil) return false
    return this.#lookups.intercepts(
      { record, delivered },
      answers => subject !== undefined && answers.isAnswered(this.#session, record.offset, subject),
    )
  }

  #invalid(invalid: InvalidCommand, record: BusRecord, counts: ResultCounts): void {
    const { topic, partition } = this.#session
    const details = problem(invalid.error)!
    this.#session.settle(record.offset, [this.#options.writeResult(invalid, { topic, partition, record }, details)])
    counts.add(invalid, details)
  }
}

const duplicate: ResultDetails = {
  outcome: 'DUPLICATE',
  attempts: 0,
  errorCode: 'DUPLICATE_ID',
  error: 'the id was seen on this partition before',
}

const problem = (error: string | null): ResultDetails | null =>
  error === null ? null : { outcome: 'INVALID', attempts: 0, errorCode: 'VALIDATION', error }

const expired = (pending: Pending, why: Expiry | null): ResultDetails | null => why && concludeExpired(pending, why)

/** Offset of each id by account; `letThrough` for an id that this session has let through. */
type Generation = Map<string, IdTable>
const letThrough = -1

/**
 * The last ids of a partition by account, to detect repeated commands. Remembers at least the last `size` ids and at most twice
 * as many, in two generations, which need no bookkeeping per id.
 */
export class RecentIds {
  readonly #size: number
  #young: Generation = new Map()
  #old: Generation = new Map()
  #count = 0

  /** @param size number of ids to remember; 0 for none */
  constructor(size: number) {
    this.#size = size
  }

  /** Remembers the id of a record that may be sent. @returns whether an earlier record had the id */
  add(account: string, id: bigint, offset: number): boolean {
    return this.#note(account, id, offset, letThrough)
  }

  /**
   * Remembers the id of a finished record. It does not make an earlier record a duplicate: the finished one may have been
   * settled as a duplicate while the earlier one still waited.
   */
  addPast(account: string, id: bigint, offset: number): void {
    this.#note(account, id, offset, offset)
  }

  #note(account: string, id: bigint, offset: number, standsAt: number): boolean {
    if (this.#size === 0) return false
    const young = this.#youngOf(account)
    const known = young.get(id) ?? this.#old.get(account)?.get(id)
    if (known !== undefined && known < offset) return true
    if (young.set(id, standsAt) && ++this.#count >= this.#size) this.#age()
    return false
  }

  #youngOf(account: string): IdTable {
    const young = this.#young.get(account) ?? new IdTable('with numbers')
    this.#young.set(account, young)
    return young
  }

  #age(): void {
    this.#old = this.#young
    this.#young = new Map()
    this.#count = 0
  }
}
