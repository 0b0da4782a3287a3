import pLimit, { type LimitFunction } from 'p-limit'
import type { InFlight } from './packer.ts'

interface Waiting {
  /** Null: a status poll. */
  flight: InFlight | null
  start: (limit: LimitFunction) => void
  giveUp: () => void
}

/**
 * Limits the requests in flight, and deals the slots out: to prepared envelopes by the urgency of their topics, then to
 * status polls; whoever was passed over often enough goes first. One slot is reserved for the most urgent topic, so that
 * a slow gateway under bulk does not hold it up.
 */
export class Slots {
  readonly #shared: LimitFunction
  /** Null: there is only one slot. */
  readonly #reserved: LimitFunction | null
  readonly #turns: UrgencyTurns
  /** By urgency, the polls last. */
  readonly #waiting: Waiting[][]

  /** @param topics how many there are, 0 being the most urgent one */
  constructor(concurrency: number, topics: number) {
    this.#shared = pLimit(Math.max(1, concurrency - 1))
    this.#reserved = concurrency > 1 ? pLimit(1) : null
    const count = topics + 1
    this.#turns = new UrgencyTurns(count)
    this.#waiting = Array.from({ length: count }, () => [])
  }

  /** Requests in flight. */
  get taken(): number {
    return this.#shared.activeCount + (this.#reserved?.activeCount ?? 0)
  }

  /** Slots that are free for a topic. */
  free(urgency: number): number {
    return this.#limitsFor(urgency).reduce((sum, limit) => sum + freeOf(limit), 0)
  }

  /** Envelopes of a topic that wait for a slot. */
  waiting(urgency: number): number {
    return this.#waiting[urgency]!.length
  }

  /** Tells whether any envelope waits for a slot. */
  get hasEnvelopes(): boolean {
    return this.#waiting.some(waiting => waiting.some(({ flight }) => flight))
  }

  /** Tells whether the envelope waits for a slot. */
  isWaiting(flight: InFlight): boolean {
    return this.#waiting[flight.urgency]!.some(one => one.flight === flight)
  }

  /** Sends a prepared envelope in its turn. @returns what that came to; null: it was withdrawn before */
  envelope<T>(flight: InFlight, send: () => Promise<T>): Promise<T | null> {
    return this.#wait(flight.urgency, flight, send)
  }

  /** Sends a status poll in its turn. */
  async poll(send: () => Promise<void>): Promise<void> {
    await this.#wait(this.#waiting.length - 1, null, send)
  }

  /** Takes out the waiting envelopes that are not to be sent. */
  withdraw(mayStay: (flight: InFlight) => boolean): InFlight[] {
    const withdrawn: InFlight[] = []
    for (const [urgency, waiting] of this.#waiting.entries()) {
      const gone = waiting.filter(({ flight }) => flight && !mayStay(flight))
      if (gone.length === 0) continue
      this.#waiting[urgency] = waiting.filter(one => !gone.includes(one))
      for (const { flight, giveUp } of gone) {
        withdrawn.push(flight!)
        giveUp()
      }
    }
    return withdrawn
  }

  /** Starts those that wait, for as long as there is a slot for one. */
  fill(): void {
    for (;;) {
      const urgency = this.#turns.order().find(one => this.waiting(one) > 0 && this.free(one) > 0)
      if (urgency === undefined) return
      this.#turns.left(urgency)
      const limit = this.#limitsFor(urgency).find(one => freeOf(one) > 0)!
      this.#waiting[urgency]!.shift()!.start(limit)
    }
  }

  #wait<T>(urgency: number, flight: InFlight | null, send: () => Promise<T>): Promise<T | null> {
    return new Promise(resolve => {
      const start = (limit: LimitFunction) => resolve(limit(send))
      this.#waiting[urgency]!.push({ flight, start, giveUp: () => resolve(null) })
    })
  }

  #limitsFor(urgency: number): LimitFunction[] {
    return urgency === 0 && this.#reserved ? [this.#reserved, this.#shared] : [this.#shared]
  }
}

const freeOf = ({ concurrency, activeCount }: LimitFunction) => concurrency - activeCount

/** An envelope lets at most so many more urgent ones leave before it. */
export const mostPassedOver = 7

/**
 * UrgencyTurns knows whose turn it is among topics of different urgency. The most urgent one goes first; one that has been passed over
 * seven times goes before it once. So each keeps a share of the envelopes, however much the more urgent ones have to send.
 */
export class UrgencyTurns {
  /** It counts, for each topic, the envelopes of more urgent ones since its own last one. */
  readonly #passedOver: number[]

  /** @param count topics, 0 being the most urgent one */
  constructor(count: number) {
    this.#passedOver = Array.from({ length: count }, () => 0)
  }

  /** Who may send the next envelope, if the ones before have none. */
  order(): readonly number[] {
    const all = [...this.#passedOver.keys()]
    return [...all.filter(urgency => this.isDue(urgency)), ...all.filter(urgency => !this.isDue(urgency))]
  }

  /** Tells whether one envelope of the topic goes before more urgent ones. */
  isDue(urgency: number): boolean {
    return this.#passedOver[urgency]! >= mostPassedOver
  }

  /** A topic's envelope left. */
  left(urgency: number): void {
    this.#passedOver[urgency] = 0
    for (let other = urgency + 1; other < this.#passedOver.length; other++) this.#passedOver[other]!++
  }
}

/** One observation goes this part of the way towards a longer time of preparing, and this part towards a shorter one. */
const rise = 1 / 4
const fall = 1 / 64
/** One observation goes this part of the way towards another usual time of a request. */
const drift = 1 / 16

/** With one, bulk would get a slot out of its turn whenever two requests end together. */
const least = 2

/**
 * Tells how many envelopes are to be prepared ahead, so that no slot waits for a commit: as many as the slots send while
 * one is prepared. With more, commands that come later would only wait longer.
 */
export class PipelineDepth {
  readonly #slots: number
  /** Milliseconds that it takes to prepare an envelope, when it takes long. */
  #preparing = 0
  /** Milliseconds for which a request holds its slot; 0: unknown. */
  #sending = 0

  /** @param slots requests in flight at most */
  constructor(slots: number) {
    this.#slots = slots
  }

  get envelopes(): number {
    if (this.#sending === 0) return this.#slots
    return Math.max(least, Math.ceil((this.#slots * this.#preparing) / this.#sending))
  }

  /** The intents of an envelope are committed, so long after it was formed. */
  prepared(ms: number): void {
    this.#preparing += (ms - this.#preparing) * (ms > this.#preparing ? rise : fall)
  }

  /** A request has held its slot for so long. */
  sent(ms: number): void {
    const took = Math.max(1, ms)
    this.#sending = this.#sending === 0 ? took : this.#sending + (took - this.#sending) * drift
  }
}
