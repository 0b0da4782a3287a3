import { hash } from 'node:crypto'
import type { BusRecord, TopicPartition } from '../../bus/port.ts'
import { originOfLetter } from '../../records/dead-letter.ts'
import type { Doubt, SendResult } from '../../records/generated.ts'
import { IdTable } from '../../records/id-table.ts'

/** Whom a result is about. A topic that was made anew has other commands at the same offsets. */
export interface Subject {
  id: bigint
  account: string
}

/** Offsets from one to before another. */
export interface Range {
  from: number
  until: number
}

/** What is known of the answers to the commands of one partition. */
interface Coverage extends Range {
  /** Behind the last one that was answered; 0: none was. */
  answeredUntil: number
}

export const isWithin = (offset: number, range: Range | undefined): boolean =>
  range !== undefined && offset >= range.from && offset < range.until

const keyOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`

/** More attempts than those are no doubt of ours. */
const mostAttempts = 100

/**
 * PriorAnswers is what the results, dead letters and doubts say of the records that wait, kept as a table of hashes: 8 bytes
 * each, at most half of it used. That two of some millions are equal is less likely than one in a hundred thousand.
 */
export class PriorAnswers {
  readonly #covered = new Map<string, Coverage>()
  #coversDoubts = false
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

  get coversDoubts(): boolean {
    return this.#coversDoubts
  }

  /** Notes what became of the commands from one offset to before another. */
  cover(tp: TopicPartition, from: number, until: number): void {
    this.#covered.set(keyOf(tp), { from, until, answeredUntil: 0 })
  }

  /** Notes what became of everything that was in doubt, and dead letters of this partition of the doubts. */
  coverDoubts(tp: TopicPartition): void {
    this.#coversDoubts = true
    this.cover(tp, 0, Infinity)
  }

  /** The offsets of the partition that are covered. */
  rangeOf(tp: TopicPartition): Coverage | undefined {
    return this.#covered.get(keyOf(tp))
  }

  /** Notes that the record at the offset was answered. @returns whether anybody asks for it */
  #cover(tp: TopicPartition, offset: number): boolean {
    const coverage = this.rangeOf(tp)
    if (!coverage || !isWithin(offset, coverage)) return false
    coverage.answeredUntil = Math.max(coverage.answeredUntil, offset + 1)
    return true
  }

  noteResult({
    commandTopic: topic,
    commandPartition: partition,
    commandOffset: offset,
    final,
    ...subject
  }: SendResult) {
    const tp = { topic, partition }
    if (this.#cover(tp, offset)) this.#add('answered', tp, offset, subject.id, subject.account)
    if (!this.coversDoubts) return
    if (!final) this.#add('doubted', tp, offset, subject.id, subject.account)
    else if (this.#has('doubted', tp, offset, subject.id, subject.account))
      this.#add('resolved', tp, offset, subject.id, subject.account)
  }

  noteDeadLetter(letter: BusRecord): void {
    const from = originOfLetter(letter)
    if (from && this.#cover(from, from.offset)) this.#add('dead letter', from, from.offset, from.timestamp)
  }

  /** The doubts before it have led to this one: with fewer attempts, some of which left no doubt, or with the command. */
  noteDoubt(doubt: Doubt): void {
    const { attempts, omitted } = doubt
    const from = Math.max(1, attempts - mostAttempts)
    for (let earlier = from; earlier < attempts; earlier++) {
      this.#add('followed', doubt, doubt.offset, doubt.timestamp, earlier)
    }
    if (omitted !== null) this.#add('omitted', doubt, doubt.offset, doubt.timestamp, attempts)
  }

  /** Tells whether the command at the offset has a result, be it that it is in doubt. */
  isAnswered(tp: TopicPartition, offset: number, { id, account }: Subject): boolean {
    return this.#has('answered', tp, offset, id, account)
  }

  /** Tells whether the record is among the dead letters. */
  isDeadLetter(tp: TopicPartition, { offset, timestamp }: BusRecord): boolean {
    return this.#has('dead letter', tp, offset, timestamp)
  }

  /** Tells whether the command in the doubt has its final result, or a later doubt. */
  isResolved(doubt: Doubt, { id, account }: Subject): boolean {
    return (
      this.#has('resolved', doubt, doubt.offset, id, account) ||
      this.#has('followed', doubt, doubt.offset, doubt.timestamp, doubt.attempts) ||
      (doubt.omitted === null && this.#has('omitted', doubt, doubt.offset, doubt.timestamp, doubt.attempts))
    )
  }

  #add(...parts: Parameters<typeof hashOf>): void {
    this.#known.add(hashOf(...parts))
  }

  #has(...parts: Parameters<typeof hashOf>): boolean {
    return this.size > 0 && this.#known.has(hashOf(...parts))
  }
}

type Fact = 'answered' | 'doubted' | 'resolved' | 'dead letter' | 'followed' | 'omitted'

/** 64 bits, never 0. */
function hashOf(fact: Fact, tp: TopicPartition, offset: number, ...rest: (bigint | number | string)[]): bigint {
  const text = [fact, tp.topic, tp.partition, offset, ...rest].join('\n')
  return hash('sha256', text, 'buffer').readBigUInt64LE() || 1n
}
