import pLimit, { type LimitFunction } from 'p-limit'
import type { InFlight } from './in-flight.ts'
import { Turns } from './turns.ts'

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
  readonly #turns: Turns
  /** By urgency, the polls last. */
  readonly #waiting: Waiting[][]

  /** @param topics how many there are, 0 being the most urgent one */
  constructor(concurrency: number, topics: number) {
    this.#shared = pLimit(Math.max(1, concurrency - 1))
    this.#reserved = concurrency > 1 ? pLimit(1) : null
    const count = topics + 1
    this.#turns = new Turns(count)
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
