import { hash } from 'node:crypto'
import type { BusRecord, RecordHeaders, Session, TopicPartition } from '../../bus/port.ts'
import { noTime } from '../../bus/record-time.ts'
import { windowSize } from '../../bus/session/window.ts'
import { idIn } from '../../protocol/ids.ts'
import { originOfLetter } from '../../records/dead-letter.ts'
import { finishedBy } from '../../records/doubt.ts'
import type { SendResult } from '../../records/generated.ts'
import { IdTable } from '../../records/id-table.ts'
import { copyAtIn } from '../../records/later.ts'

/** The command that a result is about. Checked because a recreated topic has other commands at the same offsets. */
export interface Subject {
  id: bigint
  account: string
}

/** Offsets from `from` up to, but without, `until`. */
export interface Range {
  from: number
  until: number
}

/** The offsets of one partition whose answers are known. */
interface Coverage extends Range {
  /** The offset after the last answered one; 0 if there is none. */
  answeredUntil: number
  /** Offsets before the range, of the commands of which copies are within it. */
  others: ReadonlySet<number>
}

export const isWithin = (offset: number, range: Range | undefined): boolean =>
  range !== undefined && offset >= range.from && offset < range.until

type SessionOf = Pick<Session, 'topic' | 'partition' | 'forgotten'>

const keyOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

/**
 * Answers to waiting records, from the results, dead letters and the marks of finished doubts: a table of 64-bit hashes, at
 * most half full. Among some millions, the probability that two are equal is below one in a hundred thousand.
 */
export class PriorAnswers {
  readonly #covered = new Map<string, Coverage>()
  readonly #known = new IdTable()
  readonly #mostKept: number

  constructor(mostKept: number) {
    this.#mostKept = mostKept
  }

  get isFull(): boolean {
    return this.size > this.#mostKept
  }

  get size(): number {
    return this.#known.size
  }

  /**
   * Collects answers to the commands in this range of offsets.
   * @param movedUntil the offset after the last one that was answered by being moved to where it waits; 0 if none is known
   * @param others further offsets
   */
  cover(tp: TopicPartition, from: number, until: number, movedUntil = 0, others: Iterable<number> = []): void {
    const answeredUntil = movedUntil > from ? Math.min(movedUntil, until) : 0
    this.#covered.set(keyOf(tp), { from, until, answeredUntil, others: new Set(others) })
  }

  /** Whether answers to this offset are collected. */
  covers(tp: TopicPartition, offset: number): boolean {
    const coverage = this.rangeOf(tp)
    return isWithin(offset, coverage) || coverage?.others.has(offset) === true
  }

  rangeOf(tp: TopicPartition): Coverage | undefined {
    return this.#covered.get(keyOf(tp))
  }

  /** Records that the offset was answered. @returns whether it is covered */
  #cover(tp: TopicPartition, offset: number): boolean {
    const coverage = this.rangeOf(tp)
    if (!coverage || !isWithin(offset, coverage)) return coverage?.others.has(offset) === true
    coverage.answeredUntil = Math.max(coverage.answeredUntil, offset + 1)
    return true
  }

  /** A command that has waited is answered at two offsets: its own, and that of its copy. */
  noteResult(
    { commandTopic: topic, commandPartition: partition, commandOffset: offset, ...subject }: SendResult,
    headers: RecordHeaders,
  ) {
    const tp = { topic, partition }
    for (const at of [offset, copyAtIn(headers)])
      if (at !== null && this.#cover(tp, at)) this.#add('answered', tp, at, subject.id, subject.account)
  }

  /** The offset from which on no record of the range was answered, or can have been in flight with an answered one. */
  openUntil(session: SessionOf): number {
    const { from } = this.rangeOf(session)!
    const newest = this.#newestOf(session)
    return newest === null ? from : Math.max(from, session.forgotten ? newest + windowSize : newest)
  }

  /**
   * Whether an earlier owner may have had an intent for this offset: a window that held it may have held the newest answer, too.
   * Without any answer nobody has sent from there, as far as is known.
   */
  isNearAnswer(session: SessionOf, offset: number): boolean {
    const newest = this.#newestOf(session)
    return newest !== null && Math.abs(offset - newest) <= windowSize
  }

  /** The offset after the newest answer; the first offset if there is none, but there was an owner; else null. */
  #newestOf(session: SessionOf): number | null {
    const { from = 0, answeredUntil = 0 } = this.rangeOf(session) ?? {}
    if (answeredUntil > 0) return answeredUntil
    return session.forgotten?.owned ? from : null
  }

  noteDeadLetter(letter: BusRecord): void {
    const from = originOfLetter(letter)
    // of a command that was lost while it waited, only the place and the id are known
    const id = from?.timestamp === noTime ? idIn(letter.key?.toString() ?? '') : null
    for (const at of from && id !== null ? [from.offset, copyAtIn(letter.headers)] : [])
      if (at !== null && this.#cover(from!, at)) this.#add('lost', from!, at, id!)
    for (const at of from ? [from.offset, copyAtIn(letter.headers)] : [])
      if (at !== null && this.#cover(from!, at)) this.#add('dead letter', from!, at, from!.timestamp)
  }

  /** Notes which doubt of the partition the record marks as finished, if any. */
  noteMark(tp: TopicPartition, record: BusRecord): void {
    const offset = finishedBy(record)
    if (offset !== null && this.covers(tp, offset)) this.#add('finished', tp, offset)
  }

  /** Whether the command at the offset has a result, IN_DOUBT included, or was lost while it waited. */
  isAnswered(tp: TopicPartition, offset: number, { id, account }: Subject): boolean {
    return this.#has('answered', tp, offset, id, account) || this.#has('lost', tp, offset, id)
  }

  isDeadLetter(tp: TopicPartition, { offset, timestamp }: Pick<BusRecord, 'offset' | 'timestamp'>): boolean {
    return this.#has('dead letter', tp, offset, timestamp)
  }

  /** Whether the doubt at the offset was resolved, or followed by another one of its command. */
  isFinished(tp: TopicPartition, offset: number): boolean {
    return this.#has('finished', tp, offset)
  }

  #add(...parts: Parameters<typeof hashOf>): void {
    this.#known.add(hashOf(...parts))
  }

  #has(...parts: Parameters<typeof hashOf>): boolean {
    return this.size > 0 && this.#known.has(hashOf(...parts))
  }
}

type Fact = 'answered' | 'lost' | 'dead letter' | 'finished'

/** 64 bits; not 0, which marks a free slot of IdTable. */
function hashOf(fact: Fact, tp: TopicPartition, offset: number, ...rest: (bigint | number | string)[]): bigint {
  const text = [fact, tp.topic, tp.partition, offset, ...rest].join('\n')
  return hash('sha256', text, 'buffer').readBigUInt64LE() || 1n
}
