import type { Bus, BusRecord, Reader, Session, TopicPartition } from '../bus/port.ts'
import { noTime } from '../bus/record-time.ts'
import type { Clock } from '../clock.ts'
import type { Decoder } from '../records/decoder.ts'
import type { Doubt, SendResult } from '../records/generated.ts'
import { decodePatiently } from '../records/patient.ts'
import type { Telemetry } from '../telemetry/events.ts'
import { Answers } from './answers.ts'

export interface AnsweredOptions {
  bus: Pick<Bus, 'read'>
  topics: { results: string; deadLetters: string; doubts: string }
  resultDecoder: Decoder<SendResult>
  doubtDecoder: Decoder<Doubt>
  /** How many partitions this process owns: they share the memory. */
  owned: () => number
  /** A doubt is about a command that is at most so old. */
  maxAgeMs: number
  clock: Clock
  telemetry: Telemetry
}

/** A session whose records wait until it is known which of them were answered before. */
export interface Question {
  session: Session
  /** Of what waits now: the lowest offset, and the timestamps. */
  waiting: () => { from: number; timestamps: readonly number[] }
  /** It is known now what became of the first of them, and of many behind. */
  answered: () => void
}

/** So many offsets are looked up at a time in one process. Their table takes 32 MiB; the rest is looked up after them. */
const offsetsAtOnce = 2_000_000
/** Clocks of producers differ by less than this. */
const skewMs = 60_000
const retryMs = 5000
const advice =
  'Until then the commands wait. delivery.checkResults=false sends them without a look, for a second time too.'

/**
 * Where no window tells what was done above a committed offset, the results do: they name each command's topic,
 * partition and offset. They are read once for all sessions that wait at the time, from the oldest waiting record on,
 * with the dead letters; and with the doubts where one of the sessions is theirs.
 */
export class Answered {
  readonly #options: AnsweredOptions
  /** What was found out for sessions that have not passed it yet. */
  readonly #found = new Map<Session, Answers>()
  #questions: Question[] = []
  #reading = false
  #trouble: Error | null = null
  #endPause = () => {}
  #stopped = false

  readonly #letGo = () => {
    for (const session of this.#found.keys()) {
      if (!session.alive || session.uncheckedUntil === 0) this.#found.delete(session)
    }
  }

  constructor(options: AnsweredOptions) {
    this.#options = options
    options.telemetry.on('cycle.committed', this.#letGo)
  }

  /** What keeps commands waiting now, if so. */
  get reason(): string | null {
    if (!this.#reading) return null
    if (this.#trouble) return this.#trouble.message
    return `${this.#options.topics.results} is read for what was answered before`
  }

  /** What is known of the record; undefined: ask. */
  of(session: Session, offset: number): Answers | undefined {
    const answers = this.#found.get(session)
    return answers?.covers(session, offset) ? answers : undefined
  }

  /** A session that ended is not told. */
  ask(question: Question): void {
    this.#questions.push(question)
    if (!this.#reading) void this.#readWhileAsked()
  }

  stop(): void {
    this.#stopped = true
    this.#options.telemetry.off('cycle.committed', this.#letGo)
    this.#endPause()
  }

  async #readWhileAsked(): Promise<void> {
    this.#reading = true
    while (!this.#stopped) {
      await Promise.resolve() // those that ask in the same breath are in
      const questions = this.#questions.splice(0).filter(({ session }) => session.alive)
      if (questions.length === 0) break
      await this.#read(questions)
    }
    this.#reading = false
  }

  async #read(questions: readonly Question[]): Promise<void> {
    const { clock, telemetry } = this.#options
    const started = clock.monotonic()
    const answers = this.#answersFor(questions)
    const wanted = () => !this.#stopped && questions.some(({ session }) => session.alive)
    const reader = await this.#open(questions, answers, wanted)
    if (!reader) return
    await reader.caughtUp('behind open transactions')
    await reader.close()
    if (!wanted()) return
    const { size: known } = answers
    telemetry.emit('answered.read', { sessions: questions.length, known, took: (clock.monotonic() - started) / 1000 })
    for (const { session, answered } of questions) {
      if (!session.alive) continue
      this.#found.set(session, answers)
      answered()
    }
  }

  #answersFor(questions: readonly Question[]): Answers {
    const { topics, owned } = this.#options
    const share = Math.max(1, Math.floor(offsetsAtOnce / owned()))
    const answers = new Answers()
    for (const { session, waiting } of questions) {
      const { from } = waiting()
      if (session.topic === topics.doubts) answers.coverDoubts(session)
      else answers.cover(session, from, Math.min(session.uncheckedUntil, from + share))
    }
    return answers
  }

  /** Tries until it can. @returns null when nobody waits any more */
  async #open(questions: readonly Question[], answers: Answers, wanted: () => boolean): Promise<Reader | null> {
    const { bus, topics, telemetry } = this.#options
    const { results, deadLetters, doubts } = topics
    const names = [results, deadLetters, ...(answers.coversDoubts ? [doubts] : [])]
    while (wanted()) {
      try {
        const reader = await bus.read(names, this.#since(questions), (from, records) =>
          this.#note(answers, from, records, wanted),
        )
        this.#trouble = null
        return reader
      } catch (error) {
        this.#trouble = new Error(`what was answered before cannot be read: ${(error as Error).message} ${advice}`)
        telemetry.emit('answered.unavailable', { error: this.#trouble })
        await this.#pause()
      }
    }
    return null
  }

  /**
   * A record is answered after it was appended, and those that wait were appended in order: nothing older than the first
   * one matters. What came of a doubt began with its command. A record with a time that cannot be true may be of any.
   */
  #since(questions: readonly Question[]): number {
    const { topics, maxAgeMs, clock } = this.#options
    const now = clock.now()
    let since = now
    for (const { session, waiting } of questions) {
      const earlier = session.topic === topics.doubts ? maxAgeMs : 0
      for (const at of waiting().timestamps) since = Math.min(since, at > now + skewMs ? noTime : at - earlier)
    }
    return Math.max(0, since - skewMs)
  }

  async #note(
    answers: Answers,
    from: TopicPartition,
    records: readonly BusRecord[],
    wanted: () => boolean,
  ): Promise<void> {
    const { topics, resultDecoder, doubtDecoder, clock, telemetry } = this.#options
    for (const record of records) {
      if (from.topic === topics.deadLetters) {
        answers.noteDeadLetter(record)
        continue
      }
      const decoder: Decoder<unknown> = from.topic === topics.results ? resultDecoder : doubtDecoder
      const decoded = decoder.decode(record.value)
      const value = decoded.ok ? decoded.value : await decodePatiently(decoder, record.value, clock, wanted)
      if (from.topic === topics.doubts) {
        if (value) answers.noteDoubt(value as Doubt)
      } else if (value) answers.noteResult(value as SendResult)
      else if (wanted()) {
        const { offset, unreadable } = record
        if (record.value || unreadable) {
          telemetry.emit('result.unreadable', { ...from, offset, error: unreadable?.message ?? null })
        }
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#options.clock.after(retryMs, resolve)
      this.#endPause = () => {
        cancel()
        resolve()
      }
      if (this.#stopped) this.#endPause()
    })
  }
}
