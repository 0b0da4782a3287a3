import type { BusRecord, Session } from '../../bus/port.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Answers } from './answers.ts'
import type { ResultsLookup } from './results-lookup.ts'

export interface LookupQueueOptions<T> {
  session: Session
  /** null: nothing is looked up, what is not known to be done is new. */
  lookup: ResultsLookup | null
  /** Called with what waited, in the order it came. */
  again: (items: readonly T[]) => void
  telemetry: Telemetry
}

/** Holds a session's records until it is known whether they were answered before. Their neighbours go on. */
export class LookupQueue<T extends { record: BusRecord }> {
  readonly #options: LookupQueueOptions<T>
  #waiting: T[] = []
  #settled = 0

  constructor(options: LookupQueueOptions<T>) {
    this.#options = options
    const { session, telemetry } = options
    const { topic, partition, uncheckedUntil: until } = session
    if (until > 0) telemetry.emit('session.unchecked', { topic, partition, until })
  }

  /**
   * @param isAnswered whether the results say that it was; a dead letter is an answer, too
   * @returns whether nothing is left to do now: it waits and comes again, or it was answered before and is settled
   */
  keeps(item: T, isAnswered: (answers: Answers) => boolean = () => false): boolean {
    const { session, lookup } = this.#options
    const { offset } = item.record
    if (!lookup || offset >= session.uncheckedUntil) return false
    const answers = lookup.answersFor(session, offset)
    if (!answers) {
      this.#wait(item, lookup)
      return true
    }
    if (!answers.isDeadLetter(session, item.record) && !isAnswered(answers)) return false
    session.settle(offset, [])
    if (this.#settled++ === 0) void session.committed().then(() => this.#announce())
    return true
  }

  #wait(item: T, lookup: ResultsLookup): void {
    this.#waiting.push(item)
    if (this.#waiting.length > 1) return
    lookup.ask({
      session: this.#options.session,
      waiting: () => ({
        from: Math.min(...this.#waiting.map(({ record }) => record.offset)),
        timestamps: this.#waiting.map(({ record }) => record.timestamp),
      }),
      answered: () => this.#options.again(this.#waiting.splice(0)),
    })
  }

  #announce(): void {
    const { session, telemetry } = this.#options
    const count = this.#settled
    this.#settled = 0
    if (session.alive) telemetry.emit('answered.found', { topic: session.topic, count })
  }
}
