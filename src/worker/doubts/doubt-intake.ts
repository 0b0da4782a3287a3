import type { BusRecord, OutgoingRecord, Session, Unreadable } from '../../bus/port.ts'
import { appendedBy } from '../../bus/record-time.ts'
import { idIn } from '../../protocol/ids.ts'
import { isSendType } from '../../protocol/index.ts'
import { type Command, hookedByType, isInvalid, memoryOf, withoutContent } from '../../records/command.ts'
import { type DeadLetterReason, internalError } from '../../records/dead-letter.ts'
import type { Decoder } from '../../records/decoder.ts'
import { doubtWithoutCommand, finishedBy, finishedMark, isOfOthers, originOf } from '../../records/doubt.ts'
import type { Doubt, SendCommand } from '../../records/generated.ts'
import type { ResultDetails } from '../../records/result.ts'
import { sealedIn } from '../../records/sealed.ts'
import { reportFault } from '../../telemetry/contain.ts'
import { traceOf } from '../../telemetry/trace.ts'
import type { DoubtCause } from '../../vocabulary/lists.ts'
import { nobodyCouldTell } from '../conclude.ts'
import type { RecordIntakeOptions } from '../intake/command-intake.ts'
import { DeadLetterWriter, decodeRecord } from '../intake/dead-letter-writer.ts'
import { type Opened, OpeningQueue } from '../intake/opener.ts'
import { LookupQueue } from '../intake/results-lookup.ts'
import { SchemaWait } from '../intake/schema-wait.ts'
import { TurnQueue } from '../intake/turns.ts'
import type { Pending } from '../pending.ts'
import { ResultCounts } from '../result-counts.ts'
import type { Orphans } from './orphans.ts'
import type { Resolver } from './resolver.ts'

export interface DoubtIntakeOptions extends RecordIntakeOptions {
  doubtDecoder: Decoder<Doubt>
  resolver: Resolver
  orphans: Pick<Orphans, 'ask'>
}

interface Arrival {
  record: BusRecord
  /** Whether an earlier owner may have POSTed it again. */
  doubted: boolean
  /** What its sealed content holds. Absent until it is open, or if it is in the clear. */
  opened?: Opened
}

/** Turns the records of a doubts partition into commands for the resolver. */
export class DoubtIntake {
  readonly #options: DoubtIntakeOptions
  readonly #session: Session
  readonly #queue: TurnQueue<Arrival>
  readonly #lookups: LookupQueue<Arrival>
  readonly #waitForDoubt: SchemaWait<Arrival>
  readonly #waitForCommand: SchemaWait<Arrival>
  readonly #openings: OpeningQueue<Arrival>

  constructor(session: Session, options: DoubtIntakeOptions) {
    this.#session = session
    this.#options = options
    const { doubtDecoder } = options
    this.#queue = new TurnQueue(session, options.turns, arrivals => {
      for (const arrival of arrivals) this.#read(arrival)
    })
    const again = (arrivals: readonly Arrival[]) => this.#queue.add(arrivals)
    this.#lookups = new LookupQueue({ ...options, session, again })
    this.#waitForDoubt = new SchemaWait({ ...options, decoder: doubtDecoder, session, again })
    this.#waitForCommand = new SchemaWait({ ...options, session, again })
    this.#openings = new OpeningQueue({ ...options, session, patient: false, again })
  }

  take(records: readonly BusRecord[], doubted: boolean): void {
    const { doubts = [], marks = [] } = Object.groupBy(records, record =>
      finishedBy(record) === null ? 'doubts' : 'marks',
    )
    this.#queue.add(doubts.map(record => ({ record, doubted })))
    for (const { offset } of marks) this.#session.settle(offset, [])
  }

  /** The boundary around one doubt: an error of ours ends this doubt alone. */
  #read(arrival: Arrival): void {
    try {
      this.#handle(arrival)
    } catch (error) {
      const { topic, partition } = this.#session
      const { offset } = arrival.record
      reportFault(this.#options.telemetry, 'doubt', { topic, partition, offset }, error)
      this.#giveUp(arrival.record, null, internalError)
    }
  }

  #handle(arrival: Arrival): void {
    const { record } = arrival
    if (this.#lookups.intercepts(arrival, answers => answers.isFinished(this.#session, record.offset))) return
    this.#session.attach(record.offset, [finishedMark(this.#session, record.offset)], () => {})
    const doubt = decodeRecord(this.#options.doubtDecoder, record)
    if (!doubt.ok) {
      if ('pending' in doubt) this.#waitForDoubt.add(doubt.pending, arrival)
      else this.#resolveUndecodable(arrival, doubt.error)
      if (record.unreadable) this.#findOrphans(record.unreadable)
      return
    }
    if (doubt.value.omitted !== null) {
      this.#resolveWithoutCommand(arrival, doubt.value, doubt.value.omitted)
      return
    }
    const command = this.#options.decoder.decode(doubt.value.value)
    if (command.ok) this.#admit(arrival, doubt.value, command)
    else if ('pending' in command) this.#waitForCommand.add(command.pending, arrival)
    else this.#resolveWithoutCommand(arrival, doubt.value, unreadable(command.error.message))
  }

  /** The results tell which commands a batch was about. */
  #findOrphans({ lastOffset }: Unreadable): void {
    this.#session.forget(lastOffset + 1)
    this.#options.orphans.ask(this.#session)
  }

  /** Sealed content is opened only in case it may be sent again: without its key, a doubt is resolved all the same. */
  #admit(arrival: Arrival, doubt: Doubt, { value, flaw }: { value: SendCommand; flaw?: string }): void {
    const trace = traceOf(originOf(doubt).record.headers)
    const sealed = sealedIn(value)
    if (sealed && !arrival.opened) {
      this.#openings.add(arrival, { value, sealed, trace, ...(flaw && { flaw }) })
      return
    }
    const reading = arrival.opened ?? this.#options.readCommand(value, trace, flaw)
    if ('fault' in reading) throw reading.fault
    if ('lacksKey' in reading) {
      this.#resolveWithoutCommand(arrival, doubt, unreadable(`no worker has its key ${reading.lacksKey}`))
      return
    }
    if (isInvalid(reading)) {
      this.#resolveWithoutCommand(arrival, doubt, unreadable(reading.error))
      return
    }
    const pending = this.#pending(arrival.record, doubt, reading)
    if (this.#wasPerhapsSentAgain(arrival)) this.#doubtAgain(pending, arrival.doubted ? 'taken_over' : 'progress_reset')
    else this.#resolve(pending, doubt)
  }

  /** Whether an earlier owner had an intent for it, or may have had one that was forgotten. */
  #wasPerhapsSentAgain({ record: { offset }, doubted }: Arrival): boolean {
    const { forgotten, uncheckedUntil } = this.#session
    return doubted || (forgotten !== null && offset < Math.min(forgotten.until, uncheckedUntil))
  }

  #pending(record: BusRecord, doubt: Doubt, command: Command): Pending {
    const readyAt = this.#options.clock.monotonic()
    const appendedAt = appendedBy(doubt.timestamp, doubt.postedAt)
    return {
      // the settings may have changed since the POST
      command: { ...command, hooked: hookedByType(command.type) },
      session: this.#session,
      offset: record.offset,
      heldBytes: this.#session.made(record, memoryOf(command)),
      ...originOf(doubt),
      appendedAt,
      since: Math.max(appendedAt, command.notBefore ?? 0),
      readyAt,
      lingersSince: readyAt,
      attempts: doubt.attempts,
      doubted: true,
      packed: false,
      over: false,
      postedSince: postedSince(doubt, this.#options.maxAgeMs),
    }
  }

  #resolve(pending: Pending, doubt: Doubt): void {
    this.#options.resolver.resolve(pending, doubt.postedAt, postedSince(doubt, this.#options.maxAgeMs))
  }

  #resolveUndecodable(arrival: Arrival, error: DeadLetterReason): void {
    const doubt = doubtWithoutCommand(arrival.record, error.message)
    if (doubt) this.#resolveWithoutCommand(arrival, doubt, unreadable(error.message))
    else this.#giveUp(arrival.record, null, error)
  }

  /** Resolves a doubt without its command: id and account suffice to find out whether it was sent. */
  #resolveWithoutCommand(arrival: Arrival, written: Doubt, why: string): void {
    const { record } = arrival
    const id = idOf(record)
    const again = { attempts: written.attempts + 1, postedAt: this.#options.clock.now() } // an earlier owner's, at the latest
    const doubt = this.#wasPerhapsSentAgain(arrival) ? { ...written, ...again } : written
    const { type, account } = doubt
    if (id === null || !isSendType(type)) {
      this.#giveUp(record, doubt, { code: 'OMITTED', message: why })
      return
    }
    const subject = { id, idText: String(id), type, account, ...marksOf(doubt), hooked: hookedByType(type) }
    const command = withoutContent({ ...subject, trace: traceOf(originOf(doubt).record.headers) })
    this.#resolve({ ...this.#pending(record, doubt, command), unreadable: why }, doubt)
  }

  /**
   * Ends a doubt with too little data to poll for, with a dead letter. Its producer gets an UNRESOLVED result if the key has the
   * id.
   */
  #giveUp(record: BusRecord, doubt: Doubt | null, error: DeadLetterReason): void {
    const { writeResult, deadLetterTopic, telemetry } = this.#options
    const { topic, partition } = this.#session
    const origin = doubt ? originOf(doubt) : { topic, partition, record }
    const deadLetters = new DeadLetterWriter(deadLetterTopic, this.#session)
    const counts = new ResultCounts()
    const results: OutgoingRecord[] = []
    const id = idOf(record)
    if (id !== null) {
      const { account = 'unknown', attempts = 1 } = doubt ?? {}
      const type = doubt?.type ?? 'unknown'
      const trace = traceOf(origin.record.headers)
      const subject = { id, idText: String(id), type, account, ...marksOf(doubt), hooked: null, trace }
      const details: ResultDetails = {
        outcome: 'UNRESOLVED',
        attempts,
        errorCode: 'RESPONSE_LOST',
        error: nobodyCouldTell(error.message),
        ...(doubt && { sentAt: doubt.postedAt }),
      }
      results.push(writeResult(subject, origin, details))
      counts.add(subject, details)
      telemetry.emit('doubt.resolved', { outcome: details.outcome })
    }
    deadLetters.writeFor(record.offset, origin, { ...error, perhapsSent: true }, results)
    this.#announce(counts, deadLetters)
  }

  #doubtAgain(pending: Pending, cause: DoubtCause): void {
    const { settler, clock } = this.#options
    const counts = new ResultCounts()
    settler.doubt(pending, clock.now(), cause, counts)
    this.#announce(counts)
  }

  #announce(counts: ResultCounts, deadLetters?: DeadLetterWriter): void {
    const { telemetry } = this.#options
    void this.#session.committed().then(() => {
      deadLetters?.announce(telemetry)
      counts.announce(telemetry)
    })
  }
}

const unreadable = (why: string) => `it cannot be read any more (${why})`

/** The fields of its command that the doubt keeps for the result. */
function marksOf(doubt: Doubt | null) {
  const { correlationId = null, tenant = null, campaign = null } = doubt ?? {}
  return { correlationId, tenant, campaign, country: null }
}

/** Doubts have their command's id as key. */
const idOf = ({ key }: BusRecord) => idIn(key?.toString() ?? '')

/**
 * Earliest time at which its first POST can have begun. If the doubt does not have it, and its last POST may not have been the
 * first, assumes the greatest age of a command: `timestamp` may be later, since the producer's clock may be ahead.
 */
function postedSince({ postedSince, cause, attempts, timestamp, postedAt }: Doubt, maxAgeMs: number): number {
  if (postedSince !== null) return postedSince
  return isOfOthers(cause) || attempts > 1 ? Math.min(timestamp, postedAt - maxAgeMs) : postedAt
}
