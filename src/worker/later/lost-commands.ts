import type { BusRecord, OutgoingRecord, Place, Session } from '../../bus/port.ts'
import { noTime } from '../../bus/record-time.ts'
import { announceLetters, deadLetter } from '../../records/dead-letter.ts'
import type { LaterKey } from '../../records/later.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Placement } from './table-place.ts'

const lostText =
  'it waited on the table of later commands, and its record there, or the copy that was to be sent, is gone: nobody can tell ' +
  'whether it was sent'
const replacedText = 'it waited on the table of later commands, which was deleted: it is not sent'

/** Writes the dead letters of commands that were lost while they waited, and counts them once they are committed. */
export class LostCommands {
  readonly #session: Session
  readonly #topic: string
  readonly #telemetry: Telemetry
  /** Of the next commit. */
  #letters: Place[] = []

  /** @param topic of dead letters */
  constructor(session: Session, topic: string, telemetry: Telemetry) {
    this.#session = session
    this.#topic = topic
    this.#telemetry = telemetry
  }

  /** Its record on the table or its copy is gone. */
  gone(key: LaterKey, perhapsSent: boolean, timestamp: number = noTime): OutgoingRecord {
    return this.#letter(key, { key: keyOf(key), timestamp }, lostText, perhapsSent)
  }

  /** The table was made anew while it waited there. */
  replaced(key: LaterKey): OutgoingRecord {
    return this.#letter(key, { key: keyOf(key), timestamp: noTime }, replacedText, false)
  }

  /** Commands waited on another table, of an earlier owner: which ones, only that table knew. @param table its name now */
  elsewhere(table: string, { partition, low }: Pick<Placement, 'partition' | 'low'>): OutgoingRecord {
    const { topic, partition: own } = this.#session
    const text =
      `commands of ${topic}/${own} waited here, on another topic than ${table} as it is now: they are not sent. If it was ` +
      `renamed, name it in topics.later again; if it was made anew, stop the workers and reset the offset of ${topic}/${own} to ` +
      'the earliest, or write them again'
    return this.#letter({ topic: table, partition, offset: low }, { key: null, timestamp: noTime }, text, false)
  }

  #letter(
    { topic, partition, offset }: Place,
    own: Pick<BusRecord, 'timestamp' | 'key'>,
    message: string,
    perhapsSent: boolean,
  ): OutgoingRecord {
    if (this.#letters.length === 0) queueMicrotask(() => this.#announce())
    this.#letters.push({ topic, partition, offset })
    const record = { ...own, offset, value: null, headers: {} }
    const reason = { code: 'RECORDS_DELETED', message, perhapsSent } as const
    return deadLetter(this.#topic, { topic, partition, record }, reason)
  }

  #announce(): void {
    const letters = this.#letters.splice(0)
    const published = { stage: 'decode', code: 'RECORDS_DELETED', count: letters.length, first: letters[0]! } as const
    announceLetters(this.#session, [published], this.#telemetry)
  }
}

const keyOf = ({ id }: LaterKey): Buffer => Buffer.from(String(id))
