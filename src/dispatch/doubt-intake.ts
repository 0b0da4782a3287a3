import type { BusRecord, Session } from '../bus/port.ts'
import type { Clock } from '../clock.ts'
import type { Reading } from '../records/command.ts'
import type { Decoder } from '../records/decoder.ts'
import type { Doubt, SendCommand } from '../records/generated.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { type TraceContext, traceOf } from '../telemetry/trace.ts'
import type { Answered } from './answered.ts'
import type { Answers } from './answers.ts'
import { Graveyard } from './dead-letter.ts'
import { originOf } from './doubts.ts'
import type { Outbox } from './outbox.ts'
import type { Pending } from './pending.ts'
import type { Resolver } from './resolver.ts'
import { ResultTally } from './results.ts'
import { SchemaWait } from './schema-wait.ts'
import { Unchecked } from './unchecked.ts'

export interface DoubtIntakeOptions {
  doubtDecoder: Decoder<Doubt>
  decoder: Decoder<SendCommand>
  readCommand: (value: SendCommand, trace: TraceContext | null) => Reading
  outbox: Outbox
  resolver: Resolver
  deadLetterTopic: string
  /** Asked where the session does not know which doubts were resolved before; null: nobody is. */
  answered: Answered | null
  clock: Clock
  telemetry: Telemetry
}

interface Arrival {
  record: BusRecord
  /** An earlier owner may have POSTed it again. */
  doubted: boolean
}

/** From the records of a partition of doubts to commands that the resolver works on. */
export class DoubtIntake {
  readonly #options: DoubtIntakeOptions
  readonly #session: Session
  readonly #unchecked: Unchecked<Arrival>
  readonly #waitForDoubt: SchemaWait<Arrival>
  readonly #waitForCommand: SchemaWait<Arrival & { doubt: Doubt }>

  constructor(session: Session, options: DoubtIntakeOptions) {
    this.#session = session
    this.#options = options
    const { doubtDecoder } = options
    const again = (arrivals: readonly Arrival[]) => {
      for (const arrival of arrivals) this.#read(arrival)
    }
    this.#unchecked = new Unchecked({ ...options, session, again })
    this.#waitForDoubt = new SchemaWait({ ...options, decoder: doubtDecoder, session, again })
    this.#waitForCommand = new SchemaWait<Arrival & { doubt: Doubt }>({ ...options, session, again })
  }

  take(records: readonly BusRecord[], doubted: boolean): void {
    for (const record of records) this.#read({ record, doubted })
  }

  #read(arrival: Arrival): void {
    const doubt = this.#options.doubtDecoder.decode(arrival.record.value)
    if (!doubt.ok) {
      if ('pending' in doubt) this.#waitForDoubt.add(doubt.pending, arrival)
      else if (!this.#keeps(arrival)) this.#bury(arrival.record, doubt.error)
      return
    }
    const command = this.#options.decoder.decode(doubt.value.value)
    if (command.ok) this.#admit(arrival, doubt.value, command.value)
    else if ('pending' in command) this.#waitForCommand.add(command.pending, { ...arrival, doubt: doubt.value })
    else if (!this.#keeps(arrival)) this.#bury(arrival.record, command.error)
  }

  #admit(arrival: Arrival, doubt: Doubt, value: SendCommand): void {
    const { record, doubted } = arrival
    const { readCommand, resolver, clock } = this.#options
    const origin = originOf(doubt)
    const reading = readCommand(value, traceOf(origin.record.headers))
    if (!reading.ok) {
      if (!this.#keeps(arrival)) this.#bury(record, { code: 'INVALID', message: reading.error })
      return
    }
    if (this.#keeps(arrival, answers => answers.isResolved(doubt, reading.command))) return
    const pending: Pending = {
      command: reading.command,
      session: this.#session,
      offset: record.offset,
      origin,
      readyAt: clock.monotonic(),
      attempts: doubt.attempts,
      doubted: true,
    }
    if (doubted) this.#doubtAgain(pending)
    else resolver.resolve(pending, doubt.postedAt, oldestCallback(doubt))
  }

  /** What an earlier owner may have sent again is in doubt once more, whatever the results say. */
  #keeps(arrival: Arrival, isResolved?: (answers: Answers) => boolean): boolean {
    return !arrival.doubted && this.#unchecked.keeps(arrival, isResolved)
  }

  #doubtAgain(pending: Pending): void {
    const { outbox, clock, telemetry } = this.#options
    const tally = new ResultTally()
    outbox.doubt(pending, clock.now(), 'taken_over', tally)
    void this.#session.committed().then(() => tally.announce(telemetry))
  }

  #bury(record: BusRecord, error: { code: string; message: string }): void {
    const graveyard = new Graveyard(this.#options.deadLetterTopic, this.#session)
    graveyard.bury(record, error)
    void this.#session.committed().then(() => graveyard.announce(this.#options.telemetry))
  }
}

/** What was taken over, or POSTed before, can have been POSTed first at any time since it was on its topic. */
function oldestCallback({ cause, attempts, timestamp, postedAt }: Doubt): number {
  return cause === 'taken_over' || attempts > 1 ? timestamp : postedAt
}
