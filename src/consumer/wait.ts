import { brokersHint } from '../config/errors.ts'
import type { Settings } from '../config/index.ts'
import type { SendResult } from '../records/generated.ts'
import { problemOfId } from '../records/new-command.ts'
import { shellFlag } from '../shell.ts'
import { timeText } from '../words.ts'
import { isFinalOf, isOfMessage } from './final.ts'
import { type ReaderOptions, type ReadOptions, read, requireTime, resultsOf } from './read.ts'

export interface WaitOptions extends ReaderOptions {
  /** Ids are unique within an account. Default: any account. */
  account?: string
  /** Looks for results that were written at this time or later. Default: ten minutes ago. */
  since?: Date
  /** Stops waiting, for example `AbortSignal.timeout(30_000)`. Without it, the wait has no limit. */
  signal?: AbortSignal
}

const sinceMs = 10 * 60_000

/**
 * Waits for the final result of the message with this id; skips IN_DOUBT and DUPLICATE. After a DUPLICATE it also searches the
 * whole topic, since the result of the first record may be older than `since`. Each call reads the results topic on its own:
 * for many messages, use `readResults`.
 * @throws the signal's reason when aborted; after a time-out, a TimeoutError that says what was found and where to look; Error
 * as `readResults`, or at once if the id or `since` is invalid
 */
export async function waitForResult(
  settings: Settings,
  id: bigint | number,
  { signal, since = new Date(Date.now() - sinceMs), ...options }: WaitOptions = {},
): Promise<SendResult> {
  const problem = problemOfId(id)
  if (problem !== null) throw new Error(`waitForResult: ${problem}`)
  requireTime('since', since)
  const began = performance.now()
  const search = new Search(settings, BigInt(id), options, signal)
  const result = await search.from(since)
  if (result) return result
  const { reason } = signal!
  if (reason?.name !== 'TimeoutError') throw reason
  const seconds = Math.round((performance.now() - began) / 100) / 10
  throw new DOMException(search.complaint(since, seconds), 'TimeoutError')
}

type SearchOptions = Omit<WaitOptions, 'since' | 'signal'>
type Range = Pick<ReadOptions, 'from' | 'untilEnd'>

/** Looks for the final result of one message, and remembers what else it saw. */
class Search {
  readonly #settings: Settings
  readonly #id: bigint
  readonly #options: SearchOptions
  readonly #ending: AbortSignal
  readonly #end = new AbortController()
  readonly #found = Promise.withResolvers<SendResult | null>()
  readonly #readings: Promise<void>[] = []
  #doubt: SendResult | null = null
  #isRepeated = false
  #outage: Error | null = null

  constructor(settings: Settings, id: bigint, options: SearchOptions, signal?: AbortSignal) {
    this.#settings = settings
    this.#id = id
    this.#options = options
    this.#ending = signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal
  }

  /** @returns null when aborted */
  async from(since: Date): Promise<SendResult | null> {
    this.#begin({ from: since })
    try {
      return await this.#found.promise
    } finally {
      this.#end.abort()
      await Promise.all(this.#readings)
    }
  }

  #begin(range: Range): void {
    this.#readings.push(this.#read(range).catch(this.#found.reject))
  }

  async #read(range: Range): Promise<void> {
    const message = { id: this.#id, ...this.#options }
    const options = { ...this.#options, ...range, signal: this.#ending }
    const key = String(this.#id)
    for await (const { value } of read(this.#settings, resultsOf(this.#settings), options, {
      wanted: record => record.key?.toString() === key,
      reached: trouble => {
        this.#outage = trouble
      },
    })) {
      if (isFinalOf(value, message)) return this.#found.resolve(value)
      if (isOfMessage(value, message)) this.#note(value)
    }
    if (this.#ending.aborted) this.#found.resolve(null)
  }

  #note(result: SendResult): void {
    if (result.outcome === 'IN_DOUBT') this.#doubt ??= result
    if (result.outcome !== 'DUPLICATE' || this.#isRepeated) return
    this.#isRepeated = true
    this.#begin({ from: 'earliest', untilEnd: true }) // the other reading continues: the first record may be in progress
  }

  complaint(since: Date, seconds: number): string {
    const { account } = this.#options
    const [of, flag] =
      account === undefined ? ['any account', ''] : [`account ${account}`, ` ${shellFlag('account', account)}`]
    return (
      `${this.#settings.topics.results} has no final result of message ${this.#id} (${of}) since ${since.toISOString()}, ` +
      `after ${seconds} s: ${this.#state()} busgate message ${this.#id}${flag} shows where the message is`
    )
  }

  #state(): string {
    if (this.#outage) return `${this.#outage.message}: ${brokersHint}.`
    if (this.#doubt) {
      const since = timeText(this.#doubt.completedAt, 'since')
      return `it is IN_DOUBT ${since}, perhaps sent: do not send it again; its final result will follow.`
    }
    if (this.#isRepeated) return 'its id was used before (DUPLICATE), and the result of its first record was not found.'
    return 'is a worker running?'
  }
}
