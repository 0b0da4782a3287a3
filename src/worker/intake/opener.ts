import pLimit, { type LimitFunction } from 'p-limit'
import type { BusRecord, Session } from '../../bus/port.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { SealingKey } from '../../config/index.ts'
import { type CommandReading, subjectOf } from '../../records/command.ts'
import type { DeadLetterReason } from '../../records/dead-letter.ts'
import type { Sealed, SendCommand } from '../../records/generated.ts'
import { open } from '../../records/open-sealed.ts'
import type { TraceContext } from '../../telemetry/trace.ts'

/**
 * Records of one topic that are opened at once. More of them delay a more urgent topic (on two cores, 8 or more by 4 ms), and do not
 * open faster.
 */
const mostAtOnce = 2
/** Records of a session that continue together. */
const chunkSize = 16
/** Chunks of a topic that continue together. */
const chunksTogether = 8
/** How long records wait for a key of their kid, since workers do not all read a new file at the same time. */
const patienceMs = 10_000
const retryMs = 1000
/** How long a kid that was waited for in vain is not waited for again. */
const refusedMs = 60_000
/** Bound of the kids that are waited for: foreign records can name any number. */
const mostAwaited = 4

export interface OpenerOptions {
  /** The keys as they are now: their file may change. */
  keys: () => readonly SealingKey[]
  readOpened: (value: SendCommand, trace: TraceContext | null, flaw?: string) => CommandReading
  clock: Clock
}

/** A record with sealed content. */
export interface SealedRecord {
  value: SendCommand
  sealed: Sealed
  trace: TraceContext | null
  /** The decoder's complaint about the record. */
  flaw?: string
}

/** What was in it; or the kid of its key, which is missing; or an error of ours. */
export type Opened = CommandReading | { lacksKey: string } | { fault: unknown }

/** A kid that the protected header names is no part of the content. */
export const keyNotFound = (kid: string): DeadLetterReason => ({
  code: 'KEY_NOT_FOUND',
  message: `Its content is sealed with the key ${kid}, which sealing.keysFile does not have: add the key, then replay it.`,
})

/** Opens the sealed content of all sessions. Topics do not wait for each other. */
export class Opener {
  readonly #options: OpenerOptions
  /** By topic. */
  readonly #topics = new Map<string, TopicOpenings>()
  /** When a kid was first missed, monotonic milliseconds. */
  readonly #missedAt = new Map<string, number>()

  constructor(options: OpenerOptions) {
    this.#options = options
  }

  /**
   * Opens records of a topic behind those that it was given before. Those that sessions give it at the same time continue
   * together: the first one's intent begins a commit, and each later one would wait for the next.
   */
  openAll(topic: string, records: readonly SealedRecord[]): Promise<Opened[]> {
    const openings = this.#topics.get(topic) ?? { turns: pLimit(mostAtOnce), asked: [], isBusy: false }
    this.#topics.set(topic, openings)
    const asked = { records, ...Promise.withResolvers<Opened[]>() }
    openings.asked.push(asked)
    if (!openings.isBusy) void this.#openAsked(openings)
    return asked.promise
  }

  async #openAsked(openings: TopicOpenings): Promise<void> {
    openings.isBusy = true
    await null // for the other partitions of a fetch
    while (openings.asked.length > 0) {
      const together = openings.asked.splice(0, chunksTogether)
      const openOne = (record: SealedRecord) => openings.turns(() => this.#open(record))
      const opened = await Promise.all(together.map(({ records }) => Promise.all(records.map(openOne))))
      for (const [i, { resolve }] of together.entries()) resolve(opened[i]!)
    }
    openings.isBusy = false
  }

  #open(record: SealedRecord): Promise<Opened> {
    return this.#opened(record).catch(fault => ({ fault }))
  }

  async #opened({ value, sealed, trace, flaw }: SealedRecord): Promise<Opened> {
    const opening = await open(value, sealed, kid => this.#keyOf(kid))
    if ('lacksKey' in opening) return opening
    if ('command' in opening) return this.#options.readOpened(opening.command, trace, flaw)
    const { errorCode, error } = opening
    return { ...subjectOf(value, trace), errorCode, error, problems: [{ field: '', expected: error }] }
  }

  #keyOf(kid: string): SealingKey | undefined {
    const key = this.#options.keys().find(one => one.kid === kid)
    if (key) this.#missedAt.delete(kid)
    return key
  }

  /** Whether records should wait for a key, which may come. */
  isAwaited(kid: string): boolean {
    const now = this.#options.clock.monotonic()
    for (const [one, since] of this.#missedAt) if (now >= since + patienceMs + refusedMs) this.#missedAt.delete(one)
    const since = this.#missedAt.get(kid)
    if (since !== undefined) return now < since + patienceMs
    if (this.#missedAt.size >= mostAwaited) return false
    this.#missedAt.set(kid, now)
    return true
  }
}

interface TopicOpenings {
  turns: LimitFunction
  asked: { records: readonly SealedRecord[]; resolve: (opened: Opened[]) => void }[]
  isBusy: boolean
}

export interface OpeningQueueOptions<T> {
  session: Session
  opener: Opener
  /** Whether records wait for a key that may come. */
  patient: boolean
  /** Called with opened items, in their order unless they waited for a key. */
  again: (items: readonly (T & { opened: Opened })[]) => void
  clock: Clock
}

/** Holds a session's records until their content is open. Records in the clear continue. */
export class OpeningQueue<T extends { record: BusRecord }> {
  readonly #options: OpeningQueueOptions<T>
  #queue: Held<T>[] = []
  #isOpening = false
  /** Those whose key is missing. */
  #waiting: Held<T>[] = []

  constructor(options: OpeningQueueOptions<T>) {
    this.#options = options
  }

  add(item: T, content: SealedRecord): void {
    this.#queue.push({ item, content })
    if (!this.#isOpening) void this.#openAll()
  }

  async #openAll(): Promise<void> {
    const { session, opener } = this.#options
    this.#isOpening = true
    await null // for the other records of a fetch
    while (this.#queue.length > 0 && session.alive) {
      const chunk = this.#queue.splice(0, chunkSize)
      const opened = await opener.openAll(
        session.topic,
        chunk.map(({ content }) => content),
      )
      if (session.alive) this.#handBack(chunk, opened)
    }
    this.#isOpening = false
  }

  #handBack(chunk: readonly Held<T>[], opened: readonly Opened[]): void {
    const { again, opener, patient } = this.#options
    const isWaiting = (one: Opened) => patient && 'lacksKey' in one && opener.isAwaited(one.lacksKey)
    const waiting = chunk.filter((_, i) => isWaiting(opened[i]!))
    const done = chunk.flatMap(({ item }, i) => (waiting.includes(chunk[i]!) ? [] : { ...item, opened: opened[i]! }))
    this.#wait(waiting)
    if (done.length > 0) again(done)
  }

  #wait(held: readonly Held<T>[]): void {
    if (held.length === 0) return
    if (this.#waiting.length === 0)
      void sleep(this.#options.clock, retryMs).then(() => {
        this.#queue.push(...this.#waiting.splice(0))
        if (!this.#isOpening) void this.#openAll()
      })
    this.#waiting.push(...held)
  }
}

interface Held<T> {
  item: T
  content: SealedRecord
}
