import type { Clock } from '../clock.ts'
import { type Classified, type ItemAnswer, isMisplaced, matchedIds } from '../gateway/classify.ts'
import { type Answer, type Connection, envelopeBody } from '../gateway/connection.ts'
import { isNotFound } from '../protocol/status-answer.ts'
import { containAsync } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { ErrorCode } from '../vocabulary/lists.ts'
import type { Account } from './account.ts'
import { classifyContained } from './classify-contained.ts'

export interface PollerOptions {
  connection: Connection
  maxOperations: number
  errorTexts: Readonly<Record<string, ErrorCode>>
  /** Error texts by which the gateway says that it does not know a message. */
  notFoundTexts: readonly string[]
  /** Whether polls may begin. Without the lease, another process may own the doubts and their share of the rate. */
  hasLease: () => boolean
  clock: Clock
  telemetry: Telemetry
  /** Runs the account's request when a concurrency slot is free. */
  inSlot: (account: Account, request: () => Promise<void>) => Promise<void>
}

/** in_doubt: the poll got no definite answer; repeat it. */
export type PollAnswer = ItemAnswer

interface StatusQuestion {
  id: string
  /** Whether it goes into an envelope of its own, because the answer to several was no answer to it. */
  alone: boolean
  wanted: () => boolean
  answer: (answer: PollAnswer) => void
}

interface Asked {
  account: Account
  questions: StatusQuestion[]
  busy: boolean
  /** Number of polls that were answered item by item. */
  answered: number
  /** The first refusal as a whole of a poll for an id: monotonic milliseconds, and `answered` then. */
  refused: Map<string, { at: number; answered: number }>
}

/**
 * Polls the gateway for the status of messages: batched, one request per account at a time, within the account's rate. An answer
 * that cannot be split among the messages is followed by a poll for each of them alone, where position decides.
 */
export class StatusPoller {
  readonly #options: PollerOptions
  readonly #asked = new Map<Account, Asked>()
  #stopped = false

  constructor(options: PollerOptions) {
    this.#options = options
  }

  /**
   * @param id the message's id given by the caller, as decimal text
   * @param wanted whether the answer is still needed; if not, it resolves as in_doubt without a poll
   */
  ask(account: Account, id: string, wanted: () => boolean): Promise<PollAnswer> {
    const asked = this.#asked.get(account) ?? newlyAsked(account)
    this.#asked.set(account, asked)
    return new Promise(answer => {
      asked.questions.push({ id, alone: false, wanted, answer })
      this.#pump(asked)
    })
  }

  stop(): void {
    this.#stopped = true
  }

  #pump(asked: Asked): void {
    if (this.#stopped || asked.busy) return
    asked.questions = asked.questions.filter(({ wanted, answer }) => {
      if (!wanted()) answer({ kind: 'in_doubt' })
      return wanted()
    })
    if (asked.questions.length === 0) return
    asked.busy = true
    const wait = this.#options.hasLease() ? asked.account.pollWait : Number.POSITIVE_INFINITY
    if (wait > 0) {
      // looks again after a second: nothing tells when a rebalance ends
      this.#options.clock.after(Math.min(wait, 1000), () => this.#next(asked))
      return
    }
    void this.#options.inSlot(asked.account, () => this.#request(asked)).then(() => this.#next(asked))
  }

  #next(asked: Asked): void {
    asked.busy = false
    this.#pump(asked)
  }

  async #request(asked: Asked): Promise<void> {
    const { maxOperations, telemetry } = this.#options
    const { account } = asked
    if (account.pollWait > 0) return
    const questions = takeTogether(asked.questions, Math.min(maxOperations, account.pollRoom))
    const unanswered = () => {
      for (const question of questions) question.answer({ kind: 'in_doubt' })
    }
    await containAsync(telemetry, 'answer', null, () => this.#post(asked, questions), unanswered)
  }

  async #post(asked: Asked, questions: StatusQuestion[]): Promise<void> {
    const { connection, errorTexts, hasLease, telemetry } = this.#options
    const { account } = asked
    const permit = account.permit(questions.length, 'polls')
    const operations = questions.map(({ id }) => `{"type":"status","id":${id}}`)
    const answer = await connection.post(envelopeBody(permit.apiKey, operations), () => {
      if (!hasLease()) return 'the lease is over'
      account.begun(permit)
      return null
    })
    const ids = matchedIds(questions.map(({ id }) => ({ type: 'status', id })))
    const classified = classifyContained(telemetry, ids, answer, errorTexts)
    // the items of several messages may have the gateway's own ids
    if (questions.length === 1 && isMisplaced(classified)) connection.distrust()
    if (classified.outcome === 'not_sent' && classified.reason === 'withheld') {
      account.returnPermit(permit)
      asked.questions.unshift(...questions) // nothing was sent
      return
    }
    const isAnswered = this.#answer(asked, questions, classified, isNoAnswerTo(answer, classified))
    account.observePoll(permit, classified, isAnswered)
  }

  /**
   * @param mayAskAlone whether a message without an answer may have one in an envelope of its own
   * @returns whether a message got an answer
   */
  #answer(asked: Asked, questions: StatusQuestion[], classified: Classified, mayAskAlone: boolean): boolean {
    if (classified.outcome === 'denied') questions.push(...asked.questions.splice(0)) // a refused key refuses all
    // in any other answer, an id may be the gateway's own, which another message has here
    const items = classified.outcome === 'answered' ? classified.items : []
    if (items.length > 0) asked.answered++
    const again: StatusQuestion[] = []
    let isAnswered = false
    for (const [i, question] of questions.entries()) {
      const item = items[i] ?? this.#refusalOf(asked, question, questions.length, classified)
      isAnswered ||= item.kind !== 'in_doubt'
      if (item === items[i]) asked.refused.delete(question.id)
      if (item.kind === 'in_doubt' && mayAskAlone && questions.length > 1) again.push({ ...question, alone: true })
      else question.answer(item)
    }
    asked.questions.unshift(...again)
    return isAnswered
  }

  /**
   * What the refusal of a whole envelope says about one message of it. An unknown text may be an outage, and a refused key a wrong
   * one: such a refusal counts if the account was answered since the first one.
   */
  #refusalOf(asked: Asked, { id }: StatusQuestion, together: number, classified: Classified): PollAnswer {
    const isDenied = classified.outcome === 'denied'
    if (!isDenied && !(classified.outcome === 'refused' && together === 1)) return { kind: 'in_doubt' }
    const { error } = classified
    const code = isDenied ? 'ACCESS_DENIED' : classified.code
    const isKnown = !isDenied && (classified.known || isNotFound(error, this.#options.notFoundTexts))
    const { answered, account, refused } = asked
    const first = refused.get(id) ?? { at: this.#options.clock.monotonic(), answered }
    refused.set(id, first)
    if (refused.size > mostRefused) refused.delete(refused.keys().next().value!)
    const hasWorked = answered > first.answered || account.passedAt > first.at
    return isKnown || hasWorked ? { kind: 'refused', code, error } : { kind: 'in_doubt' }
  }
}

/** Most ids in memory whose polls were refused as a whole. */
const mostRefused = 10_000

const newlyAsked = (account: Account): Asked => ({
  account,
  questions: [],
  busy: false,
  answered: 0,
  refused: new Map(),
})

/** Whether the gateway answered the envelope, but not, or not only, about its messages. */
const isNoAnswerTo = (answer: Answer, { outcome }: Classified): boolean =>
  (answer.kind === 'response' || (answer.kind === 'lost' && answer.cause === 'response_too_large')) &&
  (outcome === 'unknown' || outcome === 'refused')

/** Takes the first questions that may share an envelope, which must not contain an id twice. */
function takeTogether(questions: StatusQuestion[], most: number): StatusQuestion[] {
  const taken = new Map<string, StatusQuestion>()
  const left: StatusQuestion[] = []
  const limit = questions[0]!.alone ? 1 : most
  for (const question of questions) {
    const fits = taken.size < limit && !taken.has(question.id) && question.alone === questions[0]!.alone
    if (fits) taken.set(question.id, question)
    else left.push(question)
  }
  questions.splice(0, questions.length, ...left)
  return [...taken.values()]
}
