import type { BusRecord, Session } from '../bus/port.ts'
import { type Clock, sleep } from '../clock.ts'
import type { ErrorCode } from '../protocol/index.ts'
import type { Command, Reading } from '../records/command.ts'
import type { Decoder } from '../records/decoder.ts'
import type { SendCommand } from '../records/generated.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { deadLetter } from './dead-letter.ts'
import { expiry, type Pending } from './pending.ts'
import { RecentIds } from './recent-ids.ts'
import { type ResultDetails, type ResultSubject, ResultTally, type WriteResult } from './results.ts'

export interface IntakeOptions {
  decoder: Decoder<SendCommand>
  readCommand: (value: SendCommand) => Reading
  /** Why a valid command cannot be sent as this worker is set up, with what to do; null: it can. */
  objection: (command: Command) => string | null
  writeResult: WriteResult
  deadLetterTopic: string
  dedupeWindow: number
  maxAgeMs: number
  clock: Clock
  telemetry: Telemetry
  ready: (pendings: Pending[]) => void
}

const refused = (outcome: ResultDetails['outcome'], errorCode: ErrorCode, error: string): ResultDetails => ({
  outcome,
  attempts: 0,
  errorCode,
  error,
})

/** While the registry cannot be asked, it is asked again this often. */
const registryRetryMs = 1000

interface Arrival {
  record: BusRecord
  inDoubt: boolean
}

/**
 * From the records of one session to commands that may be sent. What may not be sent is settled here: dead letters,
 * INVALID, EXPIRED, DUPLICATE, and the doubts of an earlier owner. Records whose schema cannot be asked for wait;
 * their neighbours go on.
 */
export class Intake {
  readonly #options: IntakeOptions
  readonly #session: Session
  readonly #recent: RecentIds
  readonly #waiting = new Map<number, Arrival[]>()

  constructor(session: Session, options: IntakeOptions) {
    this.#session = session
    this.#options = options
    this.#recent = new RecentIds(options.dedupeWindow)
  }

  take(records: readonly BusRecord[], inDoubt: boolean): void {
    this.#process(records.map(record => ({ record, inDoubt })))
  }

  #process(arrivals: readonly Arrival[]): void {
    const tally = new ResultTally()
    const ready: Pending[] = []
    const deadLetters = new Map<string, number>()
    for (const arrival of arrivals) {
      const decoded = this.#options.decoder.decode(arrival.record.value)
      if (decoded.ok) this.#admit(arrival, decoded.value, ready, tally)
      else if ('pending' in decoded) this.#wait(decoded.pending, arrival)
      else {
        this.#bury(arrival.record, decoded.error)
        deadLetters.set(decoded.error.code, (deadLetters.get(decoded.error.code) ?? 0) + 1)
      }
    }
    this.#announce(tally, deadLetters)
    if (ready.length > 0) this.#options.ready(ready)
  }

  #admit(arrival: Arrival, value: SendCommand, ready: Pending[], tally: ResultTally): void {
    const judged = this.#judge(arrival, value)
    if ('command' in judged) {
      ready.push(judged)
      return
    }
    const { topic, partition } = this.#session
    const { offset } = arrival.record
    const { subject, details } = judged
    this.#session.settle(offset, [this.#options.writeResult(subject, { topic, partition, offset }, details)])
    tally.add(subject.type, details.outcome, details.errorCode ?? null)
  }

  /** Either the command is to be sent, or it has its result already. */
  #judge(
    { record, inDoubt }: Arrival,
    value: SendCommand,
  ): Pending | { subject: ResultSubject; details: ResultDetails } {
    const { readCommand, objection, maxAgeMs, clock, telemetry } = this.#options
    const reading = readCommand(value)
    if (!reading.ok) return { subject: reading, details: refused('INVALID', 'VALIDATION', reading.error) }
    const { command } = reading
    const known = this.#recent.add(command.account, command.id)
    if (inDoubt) {
      telemetry.emit('doubt.opened', { cause: 'taken_over', count: 1 })
      const error = 'another worker may have sent it before it stopped'
      return { subject: command, details: { outcome: 'IN_DOUBT', attempts: 1, errorCode: 'RESPONSE_LOST', error } }
    }
    if (known)
      return { subject: command, details: refused('DUPLICATE', 'DUPLICATE_ID', 'the id was seen a short while ago') }
    const problem = objection(command)
    if (problem) return { subject: command, details: refused('INVALID', 'VALIDATION', problem) }
    const { offset, timestamp } = record
    const pending = { command, session: this.#session, offset, timestamp, readyAt: clock.monotonic(), attempts: 0 }
    const expired = expiry(pending, clock.now(), maxAgeMs)
    return expired ? { subject: command, details: { outcome: 'EXPIRED', attempts: 0, errorCode: expired } } : pending
  }

  #bury(record: BusRecord, error: { code: string; message: string }): void {
    const reason = { stage: 'decode' as const, ...error }
    this.#session.settle(record.offset, [deadLetter(this.#options.deadLetterTopic, this.#session, record, reason)])
  }

  #announce(tally: ResultTally, deadLetters: Map<string, number>): void {
    const { telemetry } = this.#options
    const groups = tally.groups()
    if (groups.length === 0 && deadLetters.size === 0) return
    void this.#session.committed().then(() => {
      if (!this.#session.alive) return
      for (const group of groups) telemetry.emit('results.published', group)
      for (const [code, count] of deadLetters) telemetry.emit('deadLetter.published', { stage: 'decode', code, count })
    })
  }

  #wait(schemaId: number, arrival: Arrival): void {
    const waiting = this.#waiting.get(schemaId)
    if (waiting) {
      waiting.push(arrival)
      return
    }
    this.#waiting.set(schemaId, [arrival])
    void this.#learn(schemaId)
  }

  async #learn(schemaId: number): Promise<void> {
    const { decoder, telemetry, clock } = this.#options
    while (this.#session.alive) {
      try {
        await decoder.prepare(schemaId)
        break
      } catch (error) {
        telemetry.emit('registry.unavailable', { schemaId, error: error as Error })
        await sleep(clock, registryRetryMs)
      }
    }
    const arrivals = this.#waiting.get(schemaId) ?? []
    this.#waiting.delete(schemaId)
    if (this.#session.alive) this.#process(arrivals)
  }
}
