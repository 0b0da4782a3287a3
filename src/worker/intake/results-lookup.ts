import type { Bus, BusRecord, Session, TopicPartition } from '../../bus/port.ts'
import { searchStart } from '../../bus/record-time.ts'
import { type Clock, sleep } from '../../clock.ts'
import { type DecodeError, type Decoder, decodePatiently, isReadableLater } from '../../records/decoder.ts'
import type { SendResult } from '../../records/generated.ts'
import { contain } from '../../telemetry/contain.ts'
import type { Telemetry } from '../../telemetry/events.ts'
import { isWithin, PriorAnswers, type Range } from './prior-answers.ts'

export interface ResultsLookupOptions {
  bus: Pick<Bus, 'read'>
  topics: { results: string; deadLetters: string; doubts: string }
  resultDecoder: Decoder<SendResult>
  /** Number of partitions that this process owns; they share the memory. */
  owned: () => number
  /** The offset after the last command of a session that is known to have been moved to where it waits; 0 if none is. */
  movedUntil: (session: Session) => number
  clock: Clock
  telemetry: Telemetry
}

/** A session whose records wait for the answers of earlier owners. */
export interface LookupRequest {
  session: Session
  /** Lowest offset, and timestamps, of the waiting records; offsets of the commands that some are copies of. */
  waiting: () => { from: number; timestamps: readonly number[]; others: readonly number[] }
  /** Called when answers are known for the first waiting record and many after it. */
  answered: () => void
}

/** Most answers that a process keeps. Their table takes 32 MiB. */
const mostAnswers = 2_000_000
const retryMs = 5000

/**
 * Finds answered commands in the results, which name each command's topic, partition and offset. Needed if a committed offset
 * has no window. Results and dead letters are read once for all sessions that wait, from the oldest waiting record on. Sessions
 * of doubts need neither: the topic of doubts itself tells which of them are finished.
 */
export class ResultsLookup {
  readonly #options: ResultsLookupOptions
  /** Answers for sessions that have not passed them yet. */
  readonly #found = new Map<Session, { answers: PriorAnswers; range: Range }>()
  #requests: LookupRequest[] = []
  #reading = false
  /** Why the last attempt to read the topics failed, or missed records that may hold an answer. */
  #trouble: Error | null = null
  #stopped = false

  readonly #letGo = () => {
    for (const session of this.#found.keys()) {
      if (!session.alive || session.uncheckedUntil === 0) this.#found.delete(session)
    }
  }

  constructor(options: ResultsLookupOptions) {
    this.#options = options
    options.telemetry.on('cycle.committed', this.#letGo)
  }

  /** Why commands wait now, or null. */
  get reason(): string | null {
    if (!this.#reading) return null
    return this.#trouble?.message ?? `reading ${this.#options.topics.results} to find which commands were answered`
  }

  /** Answers that cover the record; undefined if it must be requested. */
  answersFor(session: Session, offset: number): PriorAnswers | undefined {
    const found = this.#found.get(session)
    return isWithin(offset, found?.range) ? found!.answers : undefined
  }

  /** Requests answers. `answered` is not called for a session that has ended. */
  ask(request: LookupRequest): void {
    this.#requests.push(request)
    if (!this.#reading) void this.#readWhileAsked()
  }

  stop(): void {
    this.#stopped = true
    this.#options.telemetry.off('cycle.committed', this.#letGo)
  }

  async #readWhileAsked(): Promise<void> {
    this.#reading = true
    while (!this.#stopped) {
      await Promise.resolve() // includes requests of the same tick
      const requests = this.#requests.splice(0).filter(({ session }) => session.alive)
      if (requests.length === 0) break
      await this.#read(requests)
    }
    this.#reading = false
  }

  async #read(requests: readonly LookupRequest[]): Promise<void> {
    const { clock, telemetry } = this.#options
    const started = clock.monotonic()
    const wanted = () => !this.#stopped && requests.some(({ session }) => session.alive)
    const answers = await this.#lookUp(requests, wanted)
    if (!answers) return
    const { size: known } = answers
    telemetry.emit('answered.read', { sessions: requests.length, known, took: (clock.monotonic() - started) / 1000 })
    for (const { session, answered } of requests) {
      if (!session.alive) continue
      const range = answers.rangeOf(session)!
      this.#found.set(session, { answers, range })
      // a later session need not search this range again, with all that was sent since
      if (range.until === session.uncheckedUntil) session.answeredBefore(answers.openUntil(session))
      answered()
    }
  }

  /** @param inParts whether to limit each session to its share of the memory; the rest is read later */
  #answersFor(requests: readonly LookupRequest[], inParts: boolean): PriorAnswers {
    const { topics, owned, movedUntil } = this.#options
    const share = Math.max(1, Math.floor(mostAnswers / owned()))
    const [offsets, mostKept] = inParts ? [share, Infinity] : [Infinity, share * requests.length]
    const answers = new PriorAnswers(mostKept)
    for (const { session, waiting } of requests) {
      const { from, others } = waiting()
      if (session.topic === topics.doubts) answers.cover(session, 0, Infinity)
      else {
        const until = Math.min(session.uncheckedUntil, from + offsets)
        answers.cover(session, from, until, movedUntil(session), others)
      }
    }
    return answers
  }

  /**
   * Retries until it succeeds. One pass covers all offsets unless they have too many answers, because a later pass also reads
   * every result written in between.
   * @returns null if no session waits any more
   */
  async #lookUp(requests: readonly LookupRequest[], wanted: () => boolean): Promise<PriorAnswers | null> {
    this.#trouble = null
    let inParts = false
    while (wanted()) {
      const answers = this.#answersFor(requests, inParts)
      const trouble = await this.#look(requests, answers, wanted)
      if (!trouble) return wanted() ? answers : null
      if (answers.isFull) {
        inParts = true
        continue
      }
      this.#trouble = trouble
      this.#options.telemetry.emit('answered.unavailable', { error: trouble })
      await sleep(this.#options.clock, retryMs)
    }
    return null
  }

  /** @returns why the answers are incomplete, or null */
  async #look(requests: readonly LookupRequest[], answers: PriorAnswers, wanted: () => boolean): Promise<Error | null> {
    const { results, deadLetters, doubts } = this.#options.topics
    const ofDoubts = requests.filter(({ session }) => session.topic === doubts).length
    const topics = [...(ofDoubts > 0 ? [doubts] : []), ...(ofDoubts < requests.length ? [results, deadLetters] : [])]
    const since = this.#since(requests)
    const { promise: gap, reject: lacks } = Promise.withResolvers<never>()
    gap.catch(() => {}) // it may reject before it is awaited
    const reading = this.#options.bus.read(topics, since, (from, records) =>
      this.#note(answers, from, records, wanted).catch(lacks),
    )
    const reader = await reading.catch(troubleOf)
    if (reader instanceof Error) return reader
    const ending = reader.caughtUp('behind open transactions').then(() => null)
    const trouble = await Promise.race([ending, gap]).catch(troubleOf)
    await reader.close()
    return trouble
  }

  /**
   * Earliest relevant timestamp. An answer is later than its record, and the waiting records are in append order, so nothing
   * older than the first one matters.
   */
  #since(requests: readonly LookupRequest[]): number {
    const now = this.#options.clock.now()
    let since = now
    for (const { waiting } of requests)
      for (const at of waiting().timestamps) since = Math.min(since, searchStart(at, now))
    return since
  }

  /** @throws Error when a record that may hold an answer cannot be read now */
  async #note(
    answers: PriorAnswers,
    from: TopicPartition,
    records: readonly BusRecord[],
    wanted: () => boolean,
  ): Promise<void> {
    const { topics, resultDecoder, clock } = this.#options
    for (const record of records) {
      if (answers.isFull) throw new Error('there are too many answers to read at once')
      if (from.topic === topics.deadLetters) {
        this.#contained(from, record, () => answers.noteDeadLetter(record))
        continue
      }
      if (from.topic === topics.doubts) {
        if (record.unreadable) throw new Error(unreadableText(from, record, record.unreadable))
        answers.noteMark(from, record)
        continue
      }
      const known = resultDecoder.decode(record.value)
      const decoded = known.ok ? known : await decodePatiently(resultDecoder, record.value, clock, wanted)
      if (!decoded) return
      if (!decoded.ok) this.#passOver(from, record, decoded.error)
      else this.#contained(from, record, () => answers.noteResult(decoded.value, record.headers))
    }
  }

  /** The boundary around one answer: one that our code fails on is passed over, like one that is no answer. */
  #contained({ topic, partition }: TopicPartition, { offset }: BusRecord, note: () => void): void {
    contain(this.#options.telemetry, 'result', { topic, partition, offset }, note, () => {})
  }

  #passOver(from: TopicPartition, record: BusRecord, error: DecodeError): void {
    const { offset, value, unreadable } = record
    if (unreadable || isReadableLater(error)) throw new Error(unreadableText(from, record, unreadable ?? error))
    const { topic, partition } = from
    if (value) this.#options.telemetry.emit('result.unreadable', { topic, partition, offset, error: null })
  }
}

const unreadableText = (
  { topic, partition }: TopicPartition,
  { offset }: BusRecord,
  { message }: { message: string },
): string => `${topic}/${partition}, offset ${offset}: ${message}`

const troubleOf = (error: Error) =>
  new Error(`cannot read which commands were answered: ${error.message}. Until then the commands wait.`)

export interface LookupQueueOptions<T> {
  session: Session
  lookup: Pick<ResultsLookup, 'ask' | 'answersFor'>
  /** Called with items whose answers are known, in their original order. */
  again: (items: readonly T[]) => void
  telemetry: Telemetry
}

/** Holds a session's records until it is known whether they were answered before. Other records continue. */
export class LookupQueue<T extends { record: BusRecord }> {
  readonly #options: LookupQueueOptions<T>
  #waiting: { item: T; original: Pick<BusRecord, 'offset' | 'timestamp'> | null }[] = []
  #settled = 0

  constructor(options: LookupQueueOptions<T>) {
    this.#options = options
    const { session, telemetry } = options
    const { topic, partition, uncheckedUntil: until } = session
    if (until > 0) telemetry.emit('session.unchecked', { topic, partition, until })
  }

  /**
   * @param isAnswered whether the results have an answer; a dead letter also counts as one
   * @param original the record of which the item's says to be a copy
   * @returns null if the item is new; else there is nothing to do now: it `waits` and is handed over again, or it was `answered`
   *   before and is settled
   */
  intercepts(
    item: T,
    isAnswered: (answers: PriorAnswers) => boolean,
    original: Pick<BusRecord, 'offset' | 'timestamp'> | null = null,
  ): 'waits' | 'answered' | null {
    const { session, lookup } = this.#options
    const { offset } = item.record
    if (offset >= session.uncheckedUntil) return null
    const answers = lookup.answersFor(session, offset)
    if (!answers || (original && !answers.covers(session, original.offset))) {
      this.#wait({ item, original })
      return 'waits'
    }
    const { timestamp } = original ?? item.record
    const isLetter = answers.isDeadLetter(session, { offset, timestamp })
    const isLetterOfOriginal = original !== null && answers.isDeadLetter(session, original)
    if (!isLetter && !isLetterOfOriginal && !isAnswered(answers)) return null
    this.settle(offset)
    return 'answered'
  }

  /** Settles a record that was answered before. */
  settle(offset: number): void {
    const { session } = this.#options
    session.settle(offset, [])
    if (this.#settled++ === 0) void session.committed().then(() => this.#announce())
  }

  #wait(waiting: { item: T; original: Pick<BusRecord, 'offset' | 'timestamp'> | null }): void {
    const { session, lookup } = this.#options
    this.#waiting.push(waiting)
    if (this.#waiting.length > 1) return
    lookup.ask({
      session,
      waiting: () => ({
        from: Math.min(...this.#waiting.map(({ item }) => item.record.offset)),
        timestamps: this.#waiting.map(({ item }) => item.record.timestamp),
        others: this.#waiting.flatMap(({ original }) => original?.offset ?? []),
      }),
      answered: () => this.#options.again(this.#waiting.splice(0).map(({ item }) => item)),
    })
  }

  #announce(): void {
    const { session, telemetry } = this.#options
    const count = this.#settled
    this.#settled = 0
    if (session.alive) telemetry.emit('answered.found', { topic: session.topic, count })
  }
}
