import type { BusRecord } from '../../../src/bus/port.ts'
import { isOfOthers } from '../../../src/records/doubt.ts'
import type { Doubt, SendResult } from '../../../src/records/generated.ts'
import { doubtCauses } from '../../../src/vocabulary/lists.ts'
import { correlationOf } from '../commands.ts'
import { texts } from '../gateway.ts'
import type { CommandPlan } from '../plan.ts'
import type { Report } from './invariants.ts'
import { endsOf, type Life, type Lives, nameOf, type Place, placeOf } from './lives.ts'
import type { Refusals } from './refusals.ts'

export interface OutcomesOptions {
  now: () => number
  maxAgeMs: number
  /** Milliseconds by which the wall clocks of processes may differ from true time. */
  skewMs: number
  /** Whether a process releases unsent commands before it gives a partition up, even with a slow gateway. */
  releasesUnsent: boolean
  /** Whether any process was killed or held up in its work so far. */
  wasDisturbed: () => boolean
  /** Whether envelopes are refused only in outages, or for a poison command: then no other may be REJECTED. */
  hasOnlyExplainedRefusals: boolean
}

interface OutcomesParts {
  lives: Lives
  refusals: Refusals
  report: Report
  /** Whether operators have withdrawn a command. */
  isWithdrawn: (life: Life) => boolean
}

/** Texts of results about POSTs of other processes, whose doubts come behind them. */
const doubtsOfOthers: readonly string[] = [doubtCauses.taken_over, doubtCauses.progress_reset]

/** Whether it is of a command that another owner perhaps sent, and of which nothing can be found out. */
const isOvertaken = ({ outcome, error, sentAt }: SendResult) =>
  outcome === 'UNRESOLVED' && sentAt === null && error?.startsWith('another record has this id') === true

const isUnreadable = ({ kind }: CommandPlan) => kind === 'garbage' || kind === 'unknown schema'

/** Checks the results, doubts and dead letters of commands. */
export class Outcomes {
  readonly counts = { doubts: 0, takenOver: 0, unresolved: 0, withdrawn: 0, lacking: 0, refused: 0 }
  readonly #options: OutcomesOptions
  readonly #lives: Lives
  readonly #refusals: Refusals
  readonly #report: Report
  readonly #isWithdrawn: (life: Life) => boolean

  constructor(options: OutcomesOptions, { lives, refusals, report, isWithdrawn }: OutcomesParts) {
    this.#options = options
    this.#lives = lives
    this.#refusals = refusals
    this.#report = report
    this.#isWithdrawn = isWithdrawn
  }

  doubted(doubt: Doubt, place: Place): void {
    const { topic, partition, offset, cause } = doubt
    const life = this.#lives.at({ topic, partition, offset })
    if (!life) {
      this.#report('the result tells the truth', `a doubt about ${topic}/${partition}@${offset}, which is no command`)
      return
    }
    life.places.push(place)
    this.counts.doubts++
    if (cause === 'taken_over') this.counts.takenOver++
    if (isOfOthers(cause)) life.takenOver++
    this.#checkReferences(life, doubt)
    this.#checkAttempts(life, doubt, doubt.postedAt)
    const { releasesUnsent, wasDisturbed } = this.#options
    if (cause === 'taken_over' && !life.hasRequestedConnection && releasesUnsent && !wasDisturbed()) {
      this.#report(
        'no doubt without a cause',
        `${nameOf(life)} is in doubt, and no process has requested a connection to send it`,
      )
    }
  }

  /** A record of the table says what became of a waiting command. */
  waits({ topic, partition, offset }: Place, state: string, place: Place): void {
    const life = this.#lives.at({ topic, partition, offset })
    if (!life) this.#report('one final result', `${placeOf({ topic, partition, offset })} waits, which is no command`)
    else life.waitsAt = state === 'over' ? null : place
    if (life && state === 'waits' && endsOf(life) > 0)
      this.#report('one final result', `${nameOf(life)} waits, and has its final result`)
  }

  /** A copy of a command that has waited was released. */
  copied({ topic, partition, offset }: Place, place: Place, { value }: BusRecord): void {
    const life = this.#lives.at({ topic, partition, offset })
    if (!life) return
    if (!value?.equals(life.command.value))
      this.#report('the result tells the truth', `${nameOf(life)} is released with other bytes`)
    life.copies.push(place)
    if (endsOf(life) > 0) this.#report('one final result', `${nameOf(life)} is released, and has its final result`)
  }

  deadLetter(record: BusRecord): void {
    const { headers } = record
    const text = (name: string) => String(headers[`busgate.error.${name}`])
    const place = { topic: text('topic'), partition: Number(text('partition')), offset: Number(text('offset')) }
    if (text('code') === 'RECORDS_DELETED') {
      this.#lost(
        place,
        Number(headers['busgate.error.last-offset'] ?? place.offset),
        'busgate.error.perhaps-sent' in headers,
      )
      return
    }
    const life = this.#lives.at(place)
    if (!life) {
      this.#report('one final result', `a dead letter of ${placeOf(place)}, which is no command`)
      return
    }
    life.deadLetters++
    if (!isUnreadable(life.command.plan)) this.#refusals.deadLetter(life, record)
    if (text('code') === 'KEY_NOT_FOUND') this.counts.lacking++
    this.#end(life)
  }

  result(result: SendResult): void {
    const { commandTopic: topic, commandPartition: partition, commandOffset: offset, outcome, final } = result
    const life = this.#lives.at({ topic, partition, offset })
    if (!life) {
      this.#report('one final result', `a result of ${topic}/${partition}@${offset}, which is no command`)
      return
    }
    if (isOvertaken(result)) life.takenOver++
    else this.#checkOrder(life, result)
    this.#checkReferences(life, result)
    if (result.id !== BigInt(life.command.plan.id))
      this.#report('the result tells the truth', `${nameOf(life)} is published with id ${result.id}`)
    const isOwnDoubt = outcome === 'IN_DOUBT' && !doubtsOfOthers.includes(result.error ?? '')
    if (isOwnDoubt || final) this.#checkAttempts(life, result, result.sentAt)
    life.results.push(result)
    if (!final) return
    if (outcome === 'UNRESOLVED') this.counts.unresolved++
    this.#checkTruth(life, result)
    this.#end(life)
  }

  /** Checks a command when nothing can happen any more: only then it is certain that it was not executed. */
  checkEnd(life: Life): void {
    if (endsOf(life) === 0) this.#report('one final result', `${nameOf(life)} has none`)
    if (life.deadLetters > 0 && life.executions > 0)
      this.#report('the result tells the truth', `${nameOf(life)} is a dead letter, but was executed`)
    const result = life.results.find(({ final }) => final)
    const final = result?.outcome ?? ''
    if (result && result.attempts < life.executions) {
      this.#report('the result tells the truth', `${nameOf(life)} was executed more often than it was sent`)
    }
    if (['REJECTED', 'INVALID', 'EXPIRED', 'DUPLICATE'].includes(final) && life.executions > 0) {
      this.#report('the result tells the truth', `${nameOf(life)} is ${final}, but was executed`)
    }
    const twins = () => this.#lives.twins(life)
    if (final === 'DUPLICATE' && twins().every(({ results }) => results.at(-1)?.outcome === 'DUPLICATE')) {
      this.#report('the result tells the truth', `${nameOf(life)} is DUPLICATE, as are all commands with its id`)
    }
  }

  /** Checks a dead letter about offsets that a log lost, of which some may be no commands. */
  #lost({ topic, partition, offset }: Place, last: number, perhapsSent: boolean): void {
    if (!this.#lives.isCut({ topic, partition })) {
      this.#report(
        'the result tells the truth',
        `${topic}/${partition} was not cut, but has a dead letter that says so`,
      )
    }
    for (let at = offset; at <= last; at++) {
      const life = this.#lives.at({ topic, partition, offset: at })
      if (life && life.executions > 0 && !perhapsSent) {
        this.#report(
          'the result tells the truth',
          `${nameOf(life)} was executed, but a dead letter says it was not sent`,
        )
      }
    }
  }

  #checkReferences(life: Life, { correlationId, tenant }: Pick<SendResult, 'correlationId' | 'tenant'>): void {
    const { plan, phone } = life.command
    if (correlationId === correlationOf(phone) && tenant === plan.tenant) return
    this.#report(
      'the result tells the truth',
      `${nameOf(life)} is published with correlation ${correlationId} and tenant ${tenant}`,
    )
  }

  /** After a reset of the progress, a callback about an earlier command with the same id may prove that it was sent. */
  #firstPublishedAt(id: number): number {
    const same = [...this.#lives].filter(({ command: { plan } }) => plan.id === id)
    return Math.min(...same.map(({ command: { publishedAt } }) => publishedAt))
  }

  /** Checks how often, and when, a command was POSTed as one of its records says. */
  #checkAttempts(life: Life, { attempts }: Pick<SendResult, 'attempts'>, sentAt: number | null): void {
    const { now, skewMs } = this.#options
    const { begun, command } = life
    const takenOver = life.takenOver + life.places.length - 1 // an owner of its doubt, too, may have been sending it
    const reportFalse = (what: string) => this.#report('the result tells the truth', `${nameOf(life)} ${what}`)
    if (attempts > begun + takenOver)
      reportFalse(`has ${attempts} attempts, but was POSTed ${begun} times and taken over ${takenOver} times`)
    if (sentAt === null) return
    if (attempts === 0) reportFalse(`was sent at ${sentAt}, but has no attempt`)
    if (sentAt < this.#firstPublishedAt(command.plan.id) - skewMs || sentAt > now() + skewMs)
      reportFalse(`was sent ${sentAt - command.publishedAt} ms after it was published, or will be`)
  }

  #end(life: Life): void {
    const ends = endsOf(life)
    if (ends === 1) this.#lives.concluded(life)
    else {
      const outcomes = life.results.map(({ outcome }) => outcome).join(', ')
      this.#report('one final result', `${nameOf(life)} has ${ends}: ${outcomes}, dead letters ${life.deadLetters}`)
    }
  }

  #checkOrder(life: Life, { outcome }: SendResult): void {
    const doubted = life.results.some(result => result.outcome === 'IN_DOUBT')
    const allowed = doubted
      ? ['SENT', 'UNRESOLVED']
      : ['IN_DOUBT', 'SENT', 'REJECTED', 'INVALID', 'EXPIRED', 'DUPLICATE']
    if (!allowed.includes(outcome)) {
      const before = doubted ? 'after IN_DOUBT' : 'without IN_DOUBT before'
      this.#report('a doubt ends SENT or UNRESOLVED', `${nameOf(life)} is ${outcome} ${before}`)
    }
  }

  /** Checks a final result against what has happened so far. */
  #checkTruth(life: Life, { outcome, errorCode, error }: SendResult): void {
    const { plan, deadline, notBefore, publishedAt } = life.command
    const { maxAgeMs, skewMs } = this.#options
    const now = this.#options.now() + 2 * skewMs // the age of a doubt counts from its sender's clock to its resolver's
    const reportFalse = (why: string) =>
      this.#report('the result tells the truth', `${nameOf(life)} is ${outcome}, but ${why}`)
    const twins = this.#lives.twins(life)
    const twinWasSent = twins.some(twin => twin.executions > 0 && !this.#lives.mustRecognise(life, twin))
    if (outcome === 'SENT' && life.executions === 0 && !twinWasSent) reportFalse('was not executed')
    const isRejected = outcome === 'REJECTED' || (outcome === 'UNRESOLVED' && errorCode === 'REJECTED')
    if (isRejected && error === texts.outage && plan.reaction !== 'poison' && this.#options.hasOnlyExplainedRefusals)
      reportFalse('only outages refused it')
    if (outcome === 'INVALID') this.counts.refused++
    if (outcome === 'INVALID' && !this.#refusals.mayBeInvalid(plan, errorCode)) reportFalse(`can be sent: ${error}`)
    if (error?.includes('no worker has its key') && !this.#refusals.mayLackKey(plan)) reportFalse('workers had its key')
    if (outcome === 'DUPLICATE' && twins.length === 0) reportFalse('no other command has its id')
    const expired = (deadline !== null && now > deadline) || now > Math.max(publishedAt, notBefore ?? 0) + maxAgeMs
    if (errorCode === 'WITHDRAWN') {
      this.counts.withdrawn++
      if (!this.#isWithdrawn(life)) reportFalse('nobody has withdrawn it')
    } else if ((outcome === 'EXPIRED' || errorCode === 'DEADLINE' || errorCode === 'MAX_AGE') && !expired)
      reportFalse('it is not late')
  }
}
