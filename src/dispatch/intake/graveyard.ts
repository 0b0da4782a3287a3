import type { BusRecord, OutgoingRecord, Session } from '../../bus/port.ts'
import { type DeadLetterReason, deadLetter } from '../../records/dead-letter.ts'
import type { Origin } from '../../records/origin.ts'
import type { RecordPlace, Telemetry } from '../../telemetry/events.ts'

/** Buries undecodable records of one session, and counts them for telemetry. */
export class Graveyard {
  readonly #topic: string
  readonly #session: Session
  /** How many by their codes, and where the first of them stands. */
  readonly #buried = new Map<DeadLetterReason['code'], { count: number; first: RecordPlace }>()

  constructor(topic: string, session: Session) {
    this.#topic = topic
    this.#session = session
  }

  get isEmpty(): boolean {
    return this.#buried.size === 0
  }

  bury(record: BusRecord, reason: DeadLetterReason): void {
    const { topic, partition } = this.#session
    this.buryInstead(record.offset, { topic, partition, record }, reason)
  }

  /** The session's record at `offset` is done with a dead letter of the record that it is about, and `others`. */
  buryInstead(offset: number, origin: Origin, reason: DeadLetterReason, others: readonly OutgoingRecord[] = []): void {
    const letter = deadLetter(this.#topic, origin, reason)
    this.#session.settle(offset, [letter, ...others])
    const { topic, partition, record } = origin
    const { count, first } = this.#buried.get(reason.code) ?? {
      count: 0,
      first: { topic, partition, offset: record.offset },
    }
    this.#buried.set(reason.code, { count: count + 1, first })
  }

  /** It is called when the dead letters are committed. */
  announce(telemetry: Telemetry): void {
    for (const [code, { count, first }] of this.#buried) {
      telemetry.emit('deadLetter.published', { stage: 'decode', code, count, first })
    }
  }
}
