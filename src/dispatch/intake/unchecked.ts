import type { BusRecord, Session } from '../../bus/port.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import type { Answered } from './answered.ts'
import type { Answers } from './answers.ts'

export interface UncheckedOptions<T> {
  session: Session
  /** null: nothing is looked up, what is not known to be done is new. */
  answered: Answered | null
  /** Called with what waited, in the order it came. */
  again: (items: readonly T[]) => void
  telemetry: Telemetry
}

/**
 * Unchecked is where records of a session wait until it is known whether they were answered before. Their neighbours go
 * on.
 */
export class Unchecked<T extends { record: BusRecord }> {
  readonly #options: UncheckedOptions<T>
  #waiting: T[] = []
  #settled = 0

  constructor(options: UncheckedOptions<T>) {
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
    const { session, answered } = this.#options
    const { offset } = item.record
    if (!answered || offset >= session.uncheckedUntil) return false
    const answers = answered.of(session, offset)
    if (!answers) {
      this.#wait(item, answered)
      return true
    }
    if (!answers.isBuried(session, item.record) && !isAnswered(answers)) return false
    session.settle(offset, [])
    if (this.#settled++ === 0) void session.committed().then(() => this.#announce())
    return true
  }

  #wait(item: T, answered: Answered): void {
    this.#waiting.push(item)
    if (this.#waiting.length > 1) return
    answered.ask({
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
