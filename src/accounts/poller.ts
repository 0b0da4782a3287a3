import type { Clock } from '../clock.ts'
import type { ItemAnswer } from '../gateway/classify.ts'
import { type Connection, envelopeBody } from '../gateway/connection.ts'
import type { ErrorCode } from '../protocol/index.ts'
import { containAsync } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { Account } from './account.ts'
import { classifyContained } from './answer.ts'

export interface PollerOptions {
  connection: Connection
  maxOperations: number
  errorTexts: Readonly<Record<string, ErrorCode>>
  /** Whether polls may begin. Without the lease, another process may own the doubts and their share of the rate. */
  hasLease: () => boolean
  clock: Clock
  telemetry: Telemetry
  /** Runs the request when a concurrency slot is free. */
  inSlot: (request: () => Promise<void>) => Promise<void>
}

/** in_doubt: the poll got no definite answer; repeat it. */
export type PollAnswer = ItemAnswer

interface StatusQuestion {
  id: string
  wanted: () => boolean
  answer: (answer: PollAnswer) => void
}

interface Asked {
  account: Account
  questions: StatusQuestion[]
  busy: boolean
}

/**
 * Polls the gateway for the status of messages: batched, one request per account at a time, within the account's pauses and
 * rate. A poll may be the probe that ends a pause.
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
    const asked = this.#asked.get(account) ?? { account, questions: [], busy: false }
    this.#asked.set(account, asked)
    return new Promise(answer => {
      asked.questions.push({ id, wanted, answer })
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
    const wait = this.#options.hasLease() ? asked.account.wait() : Number.POSITIVE_INFINITY
    if (wait > 0) {
      // looks again after a second: nothing tells when a probe or a rebalance ends
      this.#options.clock.after(Math.min(wait, 1000), () => this.#next(asked))
      return
    }
    void this.#options.inSlot(() => this.#request(asked)).then(() => this.#next(asked))
  }

  #next(asked: Asked): void {
    asked.busy = false
    this.#pump(asked)
  }

  async #request(asked: Asked): Promise<void> {
    const { maxOperations, telemetry } = this.#options
    const { account } = asked
    if (account.wait() > 0) return
    const questions = takeDistinct(asked.questions, Math.min(maxOperations, account.room()))
    const unanswered = () => {
      for (const question of questions) question.answer({ kind: 'in_doubt' })
    }
    await containAsync(telemetry, 'answer', null, () => this.#post(asked, questions), unanswered)
  }

  async #post(asked: Asked, questions: readonly StatusQuestion[]): Promise<void> {
    const { connection, errorTexts, hasLease, telemetry } = this.#options
    const { account } = asked
    const permit = account.permit(questions.length, 'questions')
    const operations = questions.map(({ id }) => `{"type":"status","id":${id}}`)
    const answer = await connection.post(envelopeBody(permit.apiKey, operations), () => {
      if (!hasLease()) return 'the lease is over'
      account.begun(permit)
      return null
    })
    const ids = questions.map(({ id }) => id)
    const classified = classifyContained(telemetry, ids, answer, errorTexts)
    account.observe(permit, classified)
    if (classified.outcome === 'not_sent' && classified.reason === 'withheld') {
      asked.questions.unshift(...questions) // nothing was sent
      return
    }
    const items = 'items' in classified ? classified.items : []
    for (const [i, question] of questions.entries()) question.answer(items[i] ?? { kind: 'in_doubt' })
  }
}

/** An envelope must not contain an id twice. */
function takeDistinct(questions: StatusQuestion[], most: number): StatusQuestion[] {
  const taken = new Map<string, StatusQuestion>()
  const left: StatusQuestion[] = []
  for (const question of questions) {
    if (taken.size < most && !taken.has(question.id)) taken.set(question.id, question)
    else left.push(question)
  }
  questions.splice(0, questions.length, ...left)
  return [...taken.values()]
}
