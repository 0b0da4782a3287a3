import pLimit, { type LimitFunction } from 'p-limit'
import type { Envelope } from './delivery.ts'

interface Waiting {
  /** null for a status poll. */
  envelope: Envelope | null
  start: (limit: LimitFunction) => void
  giveUp: () => void
}

/**
 * Limits the requests in flight. Slots go to prepared envelopes by the urgency of their topics, then to status polls; one that
 * was passed over often enough goes first. One slot is reserved for the most urgent topic, so that slow bulk requests do not
 * delay it.
 */
export class Slots {
  readonly #shared: LimitFunction
  /** null if there is only one slot. */
  readonly #reserved: LimitFunction | null
  readonly #turns: UrgencyTurns
  /** By urgency, with status polls last. */
  readonly #waiting: Waiting[][]

  /** @param topics number of topics; 0 is the most urgent one */
  constructor(concurrency: number, topics: number) {
    this.#shared = pLimit(Math.max(1, concurrency - 1))
    this.#reserved = concurrency > 1 ? pLimit(1) : null
    const count = topics + 1
    this.#turns = new UrgencyTurns(count)
    this.#waiting = Array.from({ length: count }, () => [])
  }

  get taken(): number {
    return this.#shared.activeCount + (this.#reserved?.activeCount ?? 0)
  }

  /** Number of slots that are free for a topic. */
  free(urgency: number): number {
    return this.#limitsFor(urgency).reduce((sum, limit) => sum + freeOf(limit), 0)
  }

  /** Number of a topic's envelopes that wait for a slot. */
  waiting(urgency: number): number {
    return this.#waiting[urgency]!.length
  }

  /** Whether any envelope waits for a slot. */
  get hasEnvelopes(): boolean {
    return this.#waiting.some(waiting => waiting.some(({ envelope }) => envelope))
  }

  /** Sends a prepared envelope, or a status poll (null), in its turn. @returns the outcome; null if it was taken back before */
  send<T>(envelope: Envelope | null, send: () => Promise<T>): Promise<T | null> {
    const waiting = envelope ? this.#waiting[envelope.urgency]! : this.#waiting.at(-1)!
    return new Promise(resolve => {
      const start = (limit: LimitFunction) => resolve(limit(send))
      waiting.push({ envelope, start, giveUp: () => resolve(null) })
    })
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
    for (;;) {
      const urgency = this.#turns.order().find(one => this.waiting(one) > 0 && this.free(one) > 0)
      if (urgency === undefined) return
      this.#turns.left(urgency)
      const limit = this.#limitsFor(urgency).find(one => freeOf(one) > 0)!
      this.#waiting[urgency]!.shift()!.start(limit)
    }
  }

  #limitsFor(urgency: number): LimitFunction[] {
    return urgency === 0 && this.#reserved ? [this.#reserved, this.#shared] : [this.#shared]
  }
}

const freeOf = ({ concurrency, activeCount }: LimitFunction) => concurrency - activeCount

/** Most envelopes that may pass a less urgent one. */
export const mostPassedOver = 7

/**
 * Turns among topics of different urgency. The most urgent topic goes first; one that has been passed over seven times goes
 * before it once. Each topic thus keeps a share of the envelopes, however long the more urgent queues are.
 */
export class UrgencyTurns {
  /** For each topic, the number of more urgent envelopes since its own last one. */
  readonly #passedOver: number[]

  /** @param count number of topics; 0 is the most urgent one */
  constructor(count: number) {
    this.#passedOver = Array.from({ length: count }, () => 0)
  }

  /** Topics in the order in which they may send the next envelope. */
  order(): readonly number[] {
    const all = [...this.#passedOver.keys()]
    return [...all.filter(urgency => this.isDue(urgency)), ...all.filter(urgency => !this.isDue(urgency))]
  }

  /** Whether the topic goes before more urgent ones. */
  isDue(urgency: number): boolean {
    return this.#passedOver[urgency]! >= mostPassedOver
  }

  /** Records that the topic sent an envelope. */
  left(urgency: number): void {
    this.#passedOver[urgency] = 0
    for (let other = urgency + 1; other < this.#passedOver.length; other++) this.#passedOver[other]!++
  }
}

/** Smoothing factors of the preparation time, which follows increases faster than decreases. */
const rise = 1 / 4
const fall = 1 / 64
/** Smoothing factor of the usual request time. */
const drift = 1 / 16

/** Minimum. With one envelope, bulk would get a slot out of turn whenever two requests end together. */
const least = 2

/**
 * Number of envelopes to prepare ahead so that no slot waits for a commit: as many as the slots send while one is prepared.
 * With more, later commands would only wait longer.
 */
export class PipelineDepth {
  readonly #slots: number
  /** High estimate of the milliseconds to prepare an envelope. */
  #preparing = 0
  /** Mean milliseconds for which a request holds its slot; 0 if unknown. */
  #sending = 0

  /** @param slots most requests in flight */
  constructor(slots: number) {
    this.#slots = slots
  }

  get envelopes(): number {
    if (this.#sending === 0) return this.#slots
    return Math.max(least, Math.ceil((this.#slots * this.#preparing) / this.#sending))
  }

  /** Records the milliseconds from forming an envelope to its committed intents. */
  prepared(ms: number): void {
    this.#preparing += (ms - this.#preparing) * (ms > this.#preparing ? rise : fall)
  }

  /** Records the milliseconds for which a request held its slot. */
  sent(ms: number): void {
    const took = Math.max(1, ms)
    this.#sending = this.#sending === 0 ? took : this.#sending + (took - this.#sending) * drift
  }
}
