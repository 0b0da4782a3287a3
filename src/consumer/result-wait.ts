import { brokersHint } from '../config/errors.ts'
import type { Settings } from '../config/index.ts'
import type { SendResult } from '../records/generated.ts'
import { shellFlag } from '../shell.ts'
import { timeText } from '../words.ts'
import { Awaited, afterTimeout } from './awaited.ts'
import { type CommandPlace, finalOf, isOfMessage, type MessageId } from './final.ts'
import type { Watcher } from './topic-watch.ts'
import { type LetterFacts, letterKeyOf, type Watches } from './watches.ts'

/** A command became a dead letter, so it has no result. */
export class DeadLetterError extends Error {
  override readonly name = 'DeadLetterError'
  /** Why, e.g. SCHEMA_NOT_FOUND; see the error codes of dead letters. */
  readonly code: string
  /** Where the command's record is, or was. */
  readonly topic: string
  readonly partition: number
  readonly offset: number

  constructor(
    { topic, partition, offset }: CommandPlace,
    { code, message, perhapsSent }: Pick<LetterFacts, 'code' | 'message' | 'perhapsSent'>,
  ) {
    const ended = `became a dead letter${perhapsSent ? ', and was perhaps sent' : ''}`
    super(`the command at ${topic}/${partition}, offset ${offset} ${ended}: ${code}: ${message}`)
    this.code = code
    this.topic = topic
    this.partition = partition
    this.offset = offset
  }
}

/** What is waited for. */
export interface Wanted extends Required<MessageId> {
  /** When its result was written at the earliest, milliseconds since 1970. */
  since: number
  /** Until when its command waits, milliseconds since 1970. */
  notBefore?: number | null
}

/**
 * Waits for the final result of a message: that of one record if its place is known, else the one of its id. After DUPLICATE it
 * follows the first record with the id, whose result may be older.
 */
export class ResultWait implements Watcher<SendResult> {
  readonly key: string
  readonly #settings: Pick<Settings, 'topics'>
  readonly #watches: Pick<Watches, 'results' | 'letters'>
  readonly #wanted: Wanted
  /** Null: unknown. Undefined: not written yet. */
  #place: CommandPlace | null | undefined
  /** Results that came before the place was known. */
  #early: SendResult[] = []
  #letter: LetterWatcher | null = null
  /** The best result of other records with the id. */
  #first: SendResult | null = null
  #doubt: SendResult | null = null
  #isRepeated = false
  readonly #result = new Awaited<SendResult>({ begin: () => this.#begin(), end: () => this.dismiss() })

  /** @param place of its record; null: unknown; undefined: `written` tells it later */
  constructor(
    settings: Pick<Settings, 'topics'>,
    watches: Pick<Watches, 'results' | 'letters'>,
    wanted: Wanted,
    place?: CommandPlace | null,
  ) {
    this.key = String(wanted.id)
    this.#settings = settings
    this.#watches = watches
    this.#wanted = wanted
    this.#place = place
  }

  /** Gets results from now on, if they are read anyway, so that a later `result` need not read back. */
  expect(): void {
    this.#watches.results.expect(this)
  }

  /** Gets nothing more, until somebody waits. */
  dismiss(): void {
    this.#watches.results.leave(this)
    if (this.#letter) this.#watches.letters.leave(this.#letter)
    this.#letter = null
  }

  /** The record was written. @param place null: nobody said where */
  written(place: CommandPlace | null): void {
    this.#place = place
    for (const result of this.#early.splice(0)) this.take(result)
  }

  /** @throws the signal's reason; DeadLetterError; Error when the results cannot be read */
  result(signal: AbortSignal): Promise<SendResult> {
    return this.#result.wait(
      signal,
      afterTimeout(after => this.#complaint(after)),
    )
  }

  #begin(): void {
    const { results, letters } = this.#watches
    results.watch(this, this.#wanted.since)
    if (this.#isRepeated) results.readBack(this, 0)
    if (!this.#place) return
    this.#letter = new LetterWatcher(this.#place, error => this.#result.reject(error))
    letters.watch(this.#letter, this.#wanted.since)
  }

  take(result: SendResult): void {
    if (this.#result.hasEnded || !isOfMessage(result, this.#wanted)) return
    if (this.#place === undefined) this.#early.push(result)
    else if (!result.final) this.#doubt ??= result
    else if (this.#place !== null && finalOf([result], this.#place) === null) this.#takeOfAnother(result)
    else if (result.outcome === 'DUPLICATE') this.#followFirst()
    else this.#end(result)
  }

  /** A result of another record with the id. */
  #takeOfAnother(result: SendResult): void {
    this.#first = finalOf([this.#first, result], this.#wanted)
    if (this.#isRepeated && this.#first) this.#end(this.#first)
  }

  #followFirst(): void {
    if (this.#isRepeated) return
    this.#isRepeated = true
    if (this.#first) this.#end(this.#first)
    else if (this.#result.isWaitedFor) this.#watches.results.readBack(this, 0)
  }

  #end(result: SendResult): void {
    this.#result.settle(result)
    if (!this.#result.isWaitedFor) this.dismiss()
  }

  fail(error: Error): void {
    this.#result.fail(error)
  }

  #complaint(after: string): string {
    const { id, account, since } = this.#wanted
    return (
      `${this.#settings.topics.results} has no final result of message ${id} (account ${account}) since ` +
      `${new Date(since).toISOString()}, ${after}: ${this.#state()} ${whereToLook(this.#wanted)}`
    )
  }

  #state(): string {
    const { trouble } = this.#watches.results
    if (trouble) return `${trouble.message}: ${brokersHint}.`
    if (this.#doubt) {
      const since = timeText(this.#doubt.completedAt, 'since')
      return `it is IN_DOUBT ${since}, perhaps sent: do not send it again.`
    }
    if (this.#isRepeated) return 'its id was used before (DUPLICATE), and the result of its first record was not found.'
    const { notBefore = 0 } = this.#wanted
    return notBefore !== null && notBefore > Date.now()
      ? `it waits until ${timeText(notBefore)}.`
      : 'is a worker running?'
  }
}

/** The command that shows more of a message. */
export const whereToLook = ({ id, account }: Required<MessageId>): string =>
  `busgate message ${id} ${shellFlag('account', account)} shows where the message is`

/** Waits for the dead letter of a command. One who may not read dead letters waits for the result alone. */
class LetterWatcher implements Watcher<LetterFacts> {
  readonly key: string
  readonly #place: CommandPlace
  readonly #found: (error: DeadLetterError) => void

  constructor(place: CommandPlace, found: (error: DeadLetterError) => void) {
    this.key = letterKeyOf(place)
    this.#place = place
    this.#found = found
  }

  take(letter: LetterFacts): void {
    const { topic, partition, offset } = this.#place
    if (letter.topic !== topic || letter.partition !== partition) return
    if (offset < letter.offset || offset > letter.lastOffset) return
    this.#found(new DeadLetterError(this.#place, letter))
  }

  fail(): void {}
}
