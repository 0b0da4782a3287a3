import type { Account } from '../accounts/account.ts'
import type { PollAnswer, StatusPoller } from '../accounts/status-poller.ts'
import type { BusRecord, Session } from '../bus/port.ts'
import { appendedBy } from '../bus/record-time.ts'
import type { Clock } from '../clock.ts'
import { contentOf, type ItemAnswer } from '../gateway/classify.ts'
import { isSendType, operations, type SendType } from '../protocol/index.ts'
import { type Decoder, decodePatiently, isReadableLater } from '../records/decoder.ts'
import type { SendResult } from '../records/generated.ts'
import { type createUnreadWriter, unreadSince, unreadStatusIn, type WriteOverdue } from '../records/overdue.ts'
import { readPolledStatus, readStatus } from '../records/reported-status.ts'
import type { CommandFacts, NewStatusEvent, WriteStatus } from '../records/status.ts'
import { containAsync } from '../telemetry/contain.ts'
import type { Telemetry } from '../telemetry/events.ts'
import type { PollResult } from '../telemetry/labels.ts'
import { traceOf } from '../telemetry/trace.ts'
import { ended } from '../words.ts'
import { afterAnswer, type Schedule, type ScheduleOptions, scheduleOf } from './poll-schedule.ts'
import { placesIn, placesText } from './unread-statuses.ts'
import type { Verdicts } from './verdicts.ts'

export interface ResultsWalkOptions extends ScheduleOptions {
  verdicts: Verdicts
  decoder: Decoder<SendResult>
  poller: Pick<StatusPoller, 'ask'>
  accounts: ReadonlyMap<string, Account>
  writeOverdue: WriteOverdue
  writeUnread: ReturnType<typeof createUnreadWriter>
  writeStatus: WriteStatus
  clock: Clock
  telemetry: Telemetry
}

interface Queued {
  record: BusRecord
  /** Timestamp of its record, milliseconds since 1970; at most the time of reading, in case the writer's clock is ahead. */
  at: number
  /** null if its schema is missing. */
  result: (SendResult & { type: SendType }) | null
}

interface Message extends Queued {
  result: SendResult & { type: SendType }
}

/** How long a due message waits, so that later ones are handled in the same walk: each walk costs requests. */
const togetherMs = { least: 100, most: 5_000, ofDelay: 1 / 50 }
/** How long a result whose schema is missing is read again: longer than most verdicts take. */
const unreadPatienceMs = 7 * 24 * 3_600_000
/** The longest delay of a Node timer; a longer one ends at once. */
const longestWaitMs = 2 ** 31 - 1

/**
 * Walks one partition of results, or of overdue messages, `delayMs` behind now. A message with a verdict is finished. One
 * without is polled for if its time has come, and otherwise moves to the end of the overdue messages.
 */
export class ResultsWalk {
  readonly #options: ResultsWalkOptions
  readonly #session: Session
  /** Age of the oldest message at which the next walk begins, milliseconds. */
  readonly #walkAtAge: number
  /** Messages in the order of their records; each is handled when it is `delayMs` old. */
  readonly #queue: Queued[] = []
  readonly #asking = new Set<Message>()
  #taken = Promise.resolve()
  #walking = false
  #cancelTimer = () => {}

  constructor(session: Session, options: ResultsWalkOptions) {
    this.#session = session
    this.#options = options
    const together = Math.min(Math.max(options.delayMs * togetherMs.ofDelay, togetherMs.least), togetherMs.most)
    this.#walkAtAge = options.delayMs + together
  }

  take(records: readonly BusRecord[]): void {
    this.#taken = this.#taken.then(() => this.#read(records)).then(() => this.#walk())
  }

  /** Milliseconds by which the oldest unfinished message is late. */
  get behindMs(): number {
    const [asked] = this.#asking
    const oldest = Math.min(...[asked, this.#queue[0]].map(message => message?.at ?? Infinity))
    return Math.max(0, this.#options.clock.now() - oldest - this.#walkAtAge)
  }

  close(): void {
    this.#cancelTimer()
    this.#options.verdicts.close()
  }

  async #read(records: readonly BusRecord[]): Promise<void> {
    for (const record of records) await this.#contained(record, () => this.#enqueue(record))
  }

  /** The boundary around one result: nobody polls for one that our code fails on. */
  #contained({ offset }: BusRecord, handle: () => Promise<void>): Promise<void> {
    const { topic, partition } = this.#session
    return containAsync(this.#options.telemetry, 'result', { topic, partition, offset }, handle, () =>
      this.#session.settle(offset, []),
    )
  }

  async #enqueue(record: BusRecord): Promise<void> {
    const { decoder, clock } = this.#options
    const decoded = await decodePatiently(decoder, record.value, clock, () => this.#session.alive)
    if (!decoded) return
    const at = appendedBy(record.timestamp, clock.now())
    if (decoded.ok) {
      if (awaitsVerdict(decoded.value)) this.#queue.push({ record, at, result: decoded.value })
      else this.#session.settle(record.offset, [])
    } else if (isReadableLater(decoded.error)) this.#queue.push({ record, at, result: null })
    else this.#skip(record)
  }

  #skip({ offset, unreadable }: BusRecord): void {
    const { topic, partition } = this.#session
    const error = unreadable?.message ?? null
    this.#options.telemetry.emit('result.unreadable', { topic, partition, offset, error })
    this.#session.settle(offset, [])
  }

  /** Reads a result again whose schema was missing; for some days, it moves to the end of the overdue messages. */
  async #readAgain({ record, at }: Queued): Promise<void> {
    const { decoder, clock, telemetry, writeUnread } = this.#options
    const { topic, partition } = this.#session
    const decoded = await decodePatiently(decoder, record.value, clock, () => this.#session.alive)
    if (!decoded) return
    if (decoded.ok) {
      if (awaitsVerdict(decoded.value)) return this.#look({ record, at, result: decoded.value })
      this.#session.settle(record.offset, [])
      return
    }
    const since = unreadSince(record.headers) ?? at
    if (!isReadableLater(decoded.error) || clock.now() - since > unreadPatienceMs) {
      this.#skip(record)
      return
    }
    const error = `${ended(decoded.error.message)} It is read again later.`
    telemetry.emit('result.unreadable', { topic, partition, offset: record.offset, error })
    this.#session.settle(record.offset, [writeUnread(record, since)])
  }

  async #walk(): Promise<void> {
    if (this.#walking) return
    this.#walking = true
    this.#cancelTimer()
    for (;;) {
      const [head] = this.#queue
      if (!head || !this.#session.alive) break
      const now = this.#options.clock.now()
      const wait = head.at + this.#walkAtAge - now
      if (wait > 0) {
        this.#cancelTimer = this.#options.clock.after(Math.min(wait, longestWaitMs), () => void this.#walk())
        break
      }
      await this.#options.verdicts.moveTo(head.at)
      for (const message of this.#dueWith(head, now)) {
        void this.#contained(message.record, () => this.#look(message))
      }
    }
    this.#walking = false
  }

  /** Takes the messages that were due at `now` and are not more than one step of the verdicts newer than the first. */
  #dueWith({ at }: Queued, now: number): Queued[] {
    const { delayMs, verdicts } = this.#options
    const latest = Math.min(now - delayMs, at + verdicts.stepMs)
    const later = this.#queue.findIndex(message => message.at > latest)
    return this.#queue.splice(0, later < 0 ? this.#queue.length : later)
  }

  async #look(queued: Queued): Promise<void> {
    if (!isRead(queued)) return this.#readAgain(queued)
    const message = queued
    const schedule = scheduleOf(message.result, message.record.headers, this.#options)
    if (this.#hasVerdict(message)) this.#session.settle(message.record.offset, [])
    else if (await this.#mayHaveUnreadVerdict(message, schedule)) return
    else if (this.#options.clock.now() < schedule.pollAt) this.#postpone(message, schedule)
    else await this.#ask(message, schedule)
  }

  /**
   * Status events whose schema is missing may give the verdict: they are read again later, for some days at most.
   * @returns whether the message is finished or postponed
   */
  async #mayHaveUnreadVerdict(message: Message, schedule: Schedule): Promise<boolean> {
    const { result, record } = message
    const { verdicts, clock } = this.#options
    const unread = await verdicts.readAgain(result, placesIn(unreadStatusIn(record.headers)))
    if (!this.#session.alive) return true
    if (unread === 'verdict') this.#session.settle(record.offset, [])
    else if (unread.length === 0 || clock.now() - result.completedAt > unreadPatienceMs) return false
    else this.#postpone(message, { ...schedule, unreadStatus: placesText(unread) })
    return true
  }

  #hasVerdict({ result }: Message): boolean {
    return this.#options.verdicts.has(result.account, result.id, result.hooked === false)
  }

  #postpone({ record, result }: Message, schedule: Schedule): void {
    this.#session.settle(record.offset, [this.#options.writeOverdue(record, result, schedule)])
  }

  async #ask(message: Message, schedule: Schedule): Promise<void> {
    const { telemetry, clock, graceMs, accounts } = this.#options
    const { result, record } = message
    if (schedule.answers === 0) telemetry.emit('callback.missing', { type: result.type, count: 1 })
    this.#asking.add(message)
    const answer = await this.#statusOf(message).finally(() => this.#asking.delete(message))
    if (this.#hasVerdict(message)) {
      this.#session.settle(record.offset, [])
      return
    }
    if (await this.#mayHaveUnreadVerdict(message, schedule)) return
    const now = clock.now()
    const event = eventOfPoll(result, answer, now, accounts.get(result.account)?.apiKey() ?? '')
    const unanswered = answer.kind === 'in_doubt'
    telemetry.emit('status.polled', { result: pollResult(event, unanswered) })
    // a poll that came late, after a standstill, is repeated before the message is given up
    const isOver = unanswered ? schedule.pollAt >= schedule.endsAt + graceMs : now >= schedule.endsAt
    if (event?.final) this.#conclude(message, event)
    else if (isOver) this.#conclude(message, givenUp(result, now))
    else if (unanswered) this.#postpone(message, { ...schedule, pollAt: now, answers: Math.max(1, schedule.answers) })
    else this.#postpone(message, afterAnswer(schedule, now, this.#options))
  }

  #statusOf(message: Message): Promise<PollAnswer> {
    const { accounts, poller } = this.#options
    const { id, account: name } = message.result
    const account = accounts.get(name)
    if (!account) return Promise.resolve({ kind: 'in_doubt' })
    return poller.ask(account, String(id), () => this.#session.alive && !this.#hasVerdict(message))
  }

  #conclude({ record, result }: Message, event: NewStatusEvent): void {
    const { telemetry, writeStatus } = this.#options
    this.#session.settle(record.offset, [writeStatus(event, traceOf(record.headers))])
    void this.#session.committed().then(() => {
      const { type, country } = result
      if (this.#session.alive) telemetry.emit('verdict.found', { type, country, state: event.state })
    })
  }
}

const isRead = (queued: Queued): queued is Message => queued.result !== null

function awaitsVerdict(result: SendResult): result is Message['result'] {
  return result.outcome === 'SENT' && isSendType(result.type) && operations[result.type].hook !== 'none'
}

function pollResult(event: NewStatusEvent | null, unanswered: boolean): PollResult {
  if (event?.final) return 'verdict'
  if (event?.state === 'PENDING') return 'pending'
  return unanswered ? 'unanswered' : 'inconclusive'
}

/** Turns a poll's answer into a status event; null if the answer is not definite. */
function eventOfPoll(result: SendResult, answer: ItemAnswer, receivedAt: number, key: string): NewStatusEvent | null {
  if (answer.kind !== 'sent') return null
  const told = readPolledStatus(contentOf(answer), key)
  const { type, msgId } = result
  return { ...aboutMessage(result, receivedAt), ...told, type: told.type ?? type, msgId: told.msgId ?? msgId }
}

/** The final status event of a message that is given up. */
export function givenUp(result: SendResult, receivedAt: number): NewStatusEvent {
  const { type, msgId } = result
  return { ...aboutMessage(result, receivedAt), ...readStatus({}, ''), type, msgId, status: 'UNKNOWN', final: true }
}

function aboutMessage(result: SendResult, receivedAt: number) {
  const { id, account, type, correlationId, tenant, campaign, country } = result
  const facts: CommandFacts = { correlationId, tenant, campaign, commandType: type, country }
  return { id, account, ...facts, source: 'POLL', verified: true, receivedAt } as const
}
