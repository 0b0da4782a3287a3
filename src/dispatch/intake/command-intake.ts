import type { BusRecord, Session } from '../../bus/port.ts'
import { appendedBy } from '../../bus/record-time.ts'
import { windowSize } from '../../bus/session/window.ts'
import type { Clock } from '../../clock.ts'
import { type Command, type CommandReading, type InvalidCommand, isInvalid, memoryOf } from '../../records/command.ts'
import type { Decoded, Decoder } from '../../records/decoder.ts'
import type { SendCommand } from '../../records/generated.ts'
import { IdTable } from '../../records/id-table.ts'
import type { ResultDetails, WriteResult } from '../../records/result.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { type TraceContext, traceOf } from '../../telemetry/trace.ts'
import { concludeExpired, type Outbox, ResultCounts } from '../outbox.ts'
import { type Expiry, type ExpiryRules, expiry, type Pending } from '../pending.ts'
import { DeadLetterWriter, decodeRecord } from './dead-letter-writer.ts'
import type { Subject } from './prior-answers.ts'
import { LookupQueue, type ResultsLookup } from './results-lookup.ts'
import { type RegistryOutage, SchemaWait } from './schema-wait.ts'

export interface CommandIntakeOptions extends ExpiryRules {
  decoder: Decoder<SendCommand>
  outage: RegistryOutage
  readCommand: (value: SendCommand, trace: TraceContext | null, flaw?: string) => CommandReading
  /** Why a valid command cannot be sent as this worker is set up, with what to do; null: it can. */
  objection: (command: Command) => string | null
  outbox: Outbox
  writeResult: WriteResult
  deadLetterTopic: string
  /** How many ids of the partition are remembered. */
  dedupeWindow: number
  /** Asked where the session does not know what was answered before; null: nobody is. */
  lookup: ResultsLookup | null
  clock: Clock
  telemetry: Telemetry
  /** Commands that may be sent. */
  ready: (pendings: Pending[]) => void
}

/** How a session hands records over. */
interface Delivered {
  /**
   * new: to be sent; recalled: the same, and its id was let through before; doubted: an earlier owner may have sent it;
   * past: only its id is to be remembered.
   */
  kind: 'new' | 'recalled' | 'doubted' | 'past'
  /** Of doubted ones: no POST of them can have begun before, milliseconds since 1970; 0: unknown. */
  postedSince: number
}

/** A record that waits for its schema, or for what the results say of it. */
interface Waiting {
  record: BusRecord
  delivered: Delivered
}

type Readable = Extract<Decoded<SendCommand>, { ok: true }>

/** What comes of records that are looked at together. */
interface Step {
  /** Milliseconds since 1970. */
  now: number
  /** Whole monotonic milliseconds: a fraction would take memory of its own in each command. */
  readyAt: number
  counts: ResultCounts
  deadLetters: DeadLetterWriter
  /** Commands that are to be sent. */
  pendings: Pending[]
}

/**
 * From the records of one session to commands that may be sent. What may not be sent is settled here: dead letters,
 * INVALID, EXPIRED, DUPLICATE, and what an earlier owner may have sent.
 */
export class CommandIntake {
  readonly #options: CommandIntakeOptions
  readonly #session: Session
  readonly #recent: RecentIds
  readonly #wait: SchemaWait<Waiting>
  readonly #lookups: LookupQueue<Waiting>
  /**
   * Tells since when the age counts of records that could not tell: they may be shelved, and read again. By their places in the
   * window, which holds all that are not settled.
   */
  readonly #sinceRead = new Map<number, number>()

  constructor(session: Session, options: CommandIntakeOptions) {
    this.#session = session
    this.#options = options
    this.#recent = new RecentIds(options.dedupeWindow)
    const again = (waiting: readonly Waiting[]) => this.#takeAgain(waiting, this.#begin())
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

  #takeAgain(waiting: readonly Waiting[], step: Step): void {
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

  #read(record: BusRecord, delivered: Delivered, step: Step): void {
    const decoded = decodeRecord(this.#options.decoder, record)
    if (decoded.ok) this.#admit(record, delivered, decoded, step)
    else if ('pending' in decoded) this.#wait.add(decoded.pending, { record, delivered })
    else if (delivered.kind !== 'past' && !this.#intercepts(record, delivered)) {
      step.deadLetters.write(record, decoded.error)
    }
  }

  /** Settles a command, unless it is to be sent. */
  #admit(record: BusRecord, delivered: Delivered, { value, flaw }: Readable, step: Step): void {
    const { kind } = delivered
    const { readCommand, objection, outbox } = this.#options
    const command = readCommand(value, traceOf(record.headers), flaw)
    if (isInvalid(command)) {
      if (kind !== 'past' && !this.#intercepts(record, delivered, command)) this.#refuse(command, record, step.counts)
      return
    }
    if (kind === 'past' || this.#intercepts(record, delivered, command)) {
      this.#recent.addPast(command.account, command.id, record.offset)
      return
    }
    const known = kind !== 'recalled' && this.#recent.add(command.account, command.id, record.offset)
    const pending = this.#pending(command, record, step)
    if (kind === 'doubted') {
      if (delivered.postedSince > 0) pending.postedSince = delivered.postedSince
      outbox.doubt(pending, step.now, 'taken_over', step.counts)
      return
    }
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

  /** What an earlier owner may have sent is in doubt, whatever the results say. */
  #intercepts(record: BusRecord, delivered: Delivered, subject?: Subject): boolean {
    if (delivered.kind === 'doubted' || record.offset >= this.#session.uncheckedUntil) return false
    return this.#lookups.intercepts(
      { record, delivered },
      answers => subject !== undefined && answers.isAnswered(this.#session, record.offset, subject),
    )
  }

  #refuse(invalid: InvalidCommand, record: BusRecord, counts: ResultCounts): void {
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

/**
 * Generation says where each id of an account stands; one that this session has let through stands before all others.
 */
type Generation = Map<string, IdTable>
const letThrough = -1

/**
 * The last ids seen on a partition, for each account: a command that repeats one is not sent again. At least the last
 * `size` ids are known, at most twice as many: two generations need no bookkeeping for each id.
 */
export class RecentIds {
  readonly #size: number
  #young: Generation = new Map()
  #old: Generation = new Map()
  #count = 0

  /** @param size how many ids are remembered; 0: none */
  constructor(size: number) {
    this.#size = size
  }

  /** Remembers the id of a record that may be sent. @returns whether a record before it had the id. */
  add(account: string, id: bigint, offset: number): boolean {
    return this.#note(account, id, offset, letThrough)
  }

  /**
   * Remembers the id of a record of the past. That says nothing about a record before it: the later one may have been
   * settled as its duplicate while it still waited.
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
