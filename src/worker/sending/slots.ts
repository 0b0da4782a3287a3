import pLimit, { type LimitFunction } from 'p-limit'
import type { Account } from '../../accounts/account.ts'
import type { Envelope } from './delivery.ts'
import type { Shares } from './shares.ts'
import { UrgencyTurns } from './urgency-turns.ts'

interface Waiting {
  account: Account
  /** null for a status poll. */
  envelope: Envelope | null
  start: () => void
  giveUp: () => void
}

/**
 * Limits the requests in flight. Slots go to prepared envelopes by the urgency of their topics, then to status polls; one that
 * was passed over often enough goes first. Among accounts, each within its share, the one that uses the least slot time goes
 * first.
 */
export class Slots {
  /** The bound of all requests, whatever the shares say. */
  readonly #limit: LimitFunction
  readonly #shares: Shares
  readonly #turns: UrgencyTurns
  /** By urgency, with status polls last. */
  readonly #waiting: Waiting[][]

  /**
   * @param concurrency most requests in flight
   * @param topics number of topics; 0 is the most urgent one
   */
  constructor(shares: Shares, concurrency: number, topics: number) {
    this.#limit = pLimit(concurrency)
    this.#shares = shares
    const count = topics + 1
    this.#turns = new UrgencyTurns(count)
    this.#waiting = Array.from({ length: count }, () => [])
  }

  /** Whether any envelope waits for a slot. */
  get hasEnvelopes(): boolean {
    return this.#waiting.some(waiting => waiting.some(({ envelope }) => envelope))
  }

  /**
   * Sends a prepared envelope in its turn.
   * @param granted called when it gets its slot
   * @returns the outcome; null if it was taken back before
   */
  send<T>(envelope: Envelope, granted: () => void, send: () => Promise<T>): Promise<T | null> {
    return new Promise(resolve => {
      const { account, urgency, permit } = envelope
      const start = () => {
        granted()
        resolve(this.#run(account, urgency, send, () => permit.begunAt !== null))
      }
      this.#waiting[urgency]!.push({ account, envelope, start, giveUp: () => resolve(null) })
    })
  }

  /** Polls statuses in its turn. */
  poll(account: Account, poll: () => Promise<void>): Promise<void> {
    const urgency = this.#waiting.length - 1
    return new Promise(resolve => {
      const start = () => resolve(this.#run(account, urgency, poll, () => false))
      this.#waiting[urgency]!.push({ account, envelope: null, start, giveUp: resolve })
    })
  }

  async #run<T>(account: Account, urgency: number, request: () => Promise<T>, wasAsked: () => boolean): Promise<T> {
    const slot = this.#shares.begin(account, urgency === 0)
    try {
      return await this.#limit(request)
    } finally {
      this.#shares.end(slot, wasAsked())
    }
  }

  /** Removes waiting envelopes that must not be sent. */
  takeBack(mayStay: (envelope: Envelope) => boolean): Envelope[] {
    const takenBack: Envelope[] = []
    for (const [urgency, waiting] of this.#waiting.entries()) {
      const gone = waiting.filter(({ envelope }) => envelope && !mayStay(envelope))
      if (gone.length === 0) continue
      this.#waiting[urgency] = waiting.filter(one => !gone.includes(one))
      for (const { envelope, giveUp } of gone) {
        takenBack.push(envelope!)
        giveUp()
      }
    }
    return takenBack
  }

  /** Starts waiting requests while there are free slots. */
  fill(): void {
    this.#shares.noteTime()
    while (this.#startNext());
  }

  #startNext(): boolean {
    for (const urgency of this.#turns.order()) {
      const next = this.#next(urgency)
      if (!next) continue
      this.#turns.left(urgency)
      this.#waiting[urgency] = this.#waiting[urgency]!.filter(one => one !== next)
      next.start()
      return true
    }
    return false
  }

  #next(urgency: number): Waiting | undefined {
    const isUrgent = urgency === 0
    if (this.#waiting[urgency]!.length === 0 || this.#shares.free(isUrgent) === 0) return undefined
    const ready = this.#waiting[urgency]!.filter(({ account }) => this.#shares.room(account, isUrgent) > 0)
    const loads = ready.map(({ account }) => this.#shares.load(account))
    return ready[loads.indexOf(Math.min(...loads))]
  }
}
