import type { BusRecord, Session } from '../../bus/port.ts'
import { appendedBy } from '../../bus/record-time.ts'
import { windowSize } from '../../bus/session/window.ts'
import type { Clock } from '../../clock.ts'
import { type Command, type CommandReading, type InvalidCommand, memoryOf } from '../../records/command.ts'
import type { Decoded, Decoder } from '../../records/decoder.ts'
import type { SendCommand } from '../../records/generated.ts'
import type { ResultDetails, WriteResult } from '../../records/result.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { type TraceContext, traceOf } from '../../telemetry/trace.ts'
import { concludeExpired, type Outbox, ResultCounts } from '../outcome/outbox.ts'
import { expiry, type Pending } from '../pending.ts'
import { DeadLetterWriter, decodeRecord } from './dead-letter-writer.ts'
import type { Subject } from './prior-answers.ts'
import { RecentIds } from './recent-ids.ts'
import { LookupQueue, type ResultsLookup } from './results-lookup.ts'
import { type RegistryOutage, SchemaWait } from './schema-wait.ts'

export interface CommandIntakeOptions {
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
  maxAgeMs: number
  /** Asked where the session does not know what was answered before; null: nobody is. */
  lookup: ResultsLookup | null
  clock: Clock
  telemetry: Telemetry
  /** Commands that may be sent. */
  ready: (pendings: Pending[]) => void
}

interface Arrival {
  record: BusRecord
  /**
   * new: to be sent; recalled: the same, and its id was let through before; doubted: an earlier owner may have sent it;
   * past: only its id is to be remembered.
   */
  kind: 'new' | 'recalled' | 'doubted' | 'past'
  /** Its age counts from then on. */
  since: number
  postedSince: number
}

type Readable = Extract<Decoded<SendCommand>, { ok: true }>

/** When a batch of records is looked at. */
interface Instant {
  /** Milliseconds since 1970. */
  now: number
  /** Whole monotonic milliseconds: a fraction would take memory of its own in each command. */
  readyAt: number
}

/**
 * From the records of one session to commands that may be sent. What may not be sent is settled here: dead letters,
 * INVALID, EXPIRED, DUPLICATE, and what an earlier owner may have sent.
 */
export class CommandIntake {
  readonly #options: CommandIntakeOptions
  readonly #session: Session
  readonly #recent: RecentIds
  readonly #wait: SchemaWait<Arrival>
  readonly #lookups: LookupQueue<Arrival>
  /**
   * Tells since when the age counts of records that could not tell: they may be shelved, and read again. By their places in the
   * window, which holds all that are not settled.
   */
  readonly #sinceRead = new Map<number, number>()

  constructor(session: Session, options: CommandIntakeOptions) {
    this.#session = session
    this.#options = options
    this.#recent = new RecentIds(options.dedupeWindow)
    this.#wait = new SchemaWait({ ...options, session, again: arrivals => this.#process(arrivals) })
    this.#lookups = new LookupQueue({ ...options, session, again: arrivals => this.#process(arrivals) })
  }

  /** @param postedSince of doubted ones: no POST of them can have begun before, milliseconds since 1970; 0: unknown */
  take(records: readonly BusRecord[], kind: Arrival['kind'], postedSince = 0): void {
    const now = this.#options.clock.now()
    const arrivals = records.map(record => ({ record, kind, since: this.#since(record, kind, now), postedSince }))
    this.#process([...this.#wait.takeBack(), ...arrivals])
  }

  #since({ offset, timestamp }: BusRecord, kind: Arrival['kind'], now: number): number {
    const place = offset % windowSize
    if (kind === 'recalled') return this.#sinceRead.get(place) ?? timestamp
    const since = appendedBy(timestamp, now)
    if (kind !== 'new') return since
    if (since === timestamp) this.#sinceRead.delete(place)
    else this.#sinceRead.set(place, since)
    return since
  }

  #process(arrivals: readonly Arrival[]): void {
    const { decoder, ready, telemetry, deadLetterTopic, clock } = this.#options
    const counts = new ResultCounts()
    const deadLetters = new DeadLetterWriter(deadLetterTopic, this.#session)
    const pendings: Pending[] = []
    const instant = { now: clock.now(), readyAt: Math.floor(clock.monotonic()) }
    for (const arrival of arrivals) {
      const decoded = decodeRecord(decoder, arrival.record)
      if (decoded.ok) {
        const pending = this.#admit(arrival, decoded, instant, counts)
        if (pending) pendings.push(pending)
      } else if ('pending' in decoded) this.#wait.add(decoded.pending, arrival)
      else if (arrival.kind !== 'past' && !this.#intercepts(arrival)) deadLetters.write(arrival.record, decoded.error)
    }
    if (pendings.length > 0) ready(pendings)
    if (counts.isEmpty && deadLetters.isEmpty) return
    void this.#session.committed().then(() => {
      if (!this.#session.alive) return
      counts.announce(telemetry)
      deadLetters.announce(telemetry)
    })
  }

  /** @returns the command if it is to be sent; else it is settled. */
  #admit(arrival: Arrival, { value, flaw }: Readable, { now, readyAt }: Instant, counts: ResultCounts): Pending | null {
    const { record, kind, since, postedSince } = arrival
    const { readCommand, objection, maxAgeMs, outbox } = this.#options
    const reading = readCommand(value, traceOf(record.headers), flaw)
    if (!reading.ok) {
      if (kind !== 'past' && !this.#intercepts(arrival, reading)) this.#refuse(reading, record, counts)
      return null
    }
    const { command } = reading
    if (kind === 'past' || this.#intercepts(arrival, command)) {
      this.#recent.addPast(command.account, command.id, record.offset)
      return null
    }
    const known = kind !== 'recalled' && this.#recent.add(command.account, command.id, record.offset)
    const { topic, partition } = this.#session
    const pending: Pending = {
      command,
      session: this.#session,
      offset: record.offset,
      heldBytes: this.#session.made(record, memoryOf(command)),
      origin: { topic, partition, record },
      since,
      readyAt,
      lingersSince: readyAt - Math.max(0, now - since),
      attempts: 0,
      doubted: false,
      packed: false,
      over: false,
    }
    if (postedSince > 0) pending.postedSince = postedSince
    if (kind === 'doubted') {
      outbox.doubt(pending, now, 'taken_over', counts)
      return null
    }
    const details = known
      ? duplicate
      : (problem(objection(command)) ?? expired(pending, expiry(pending, now, maxAgeMs)))
    if (!details) return pending
    outbox.settle(pending, details, counts)
    return null
  }

  /** What an earlier owner may have sent is in doubt, whatever the results say. */
  #intercepts(arrival: Arrival, subject?: Subject): boolean {
    if (arrival.kind === 'doubted' || arrival.record.offset >= this.#session.uncheckedUntil) return false
    return this.#lookups.intercepts(
      arrival,
      answers => subject !== undefined && answers.isAnswered(this.#session, arrival.record.offset, subject),
    )
  }

  #refuse(invalid: InvalidCommand, record: BusRecord, counts: ResultCounts): void {
    const { topic, partition } = this.#session
    const details = problem(invalid.error)!
    this.#session.settle(record.offset, [this.#options.writeResult(invalid, { topic, partition, record }, details)])
    counts.add(invalid.type, details.outcome, details.errorCode ?? null)
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

const expired = (pending: Pending, code: ReturnType<typeof expiry>): ResultDetails | null =>
  code && concludeExpired(pending, code)
