import pLimit from 'p-limit'
import type { InFlight } from './in-flight.ts'
import { Turns } from './turns.ts'

/** A request that is no envelope of commands. */
interface Request {
  what: string
  send: () => Promise<void>
}

/**
 * The requests that may be in flight, and who waits for one: envelopes whose intents are committed, by the urgency of
 * their topics, and requests that are no envelopes. The two take turns. One slot is never taken by any but the most
 * urgent topic, so that a slow gateway under bulk does not hold it up.
 */
export class Slots {
  readonly #concurrency: number
  readonly #limit: ReturnType<typeof pLimit>
  readonly #turns: Turns
  /** Envelopes that are going to wait here as soon as their intents are committed, by urgency. */
  readonly #preparing: Set<InFlight>[]
  /** Envelopes that wait for a slot, by urgency. */
  readonly #prepared: InFlight[][]
  readonly #requests: Request[] = []
  readonly #underWay = new Set<Request>()
  /** Whether a request that is no envelope was the last to take a slot. */
  #requestedLast = false
  #isKept = false
  #taken = 0
  /** Slots that the most urgent topic has taken. */
  #urgent = 0

  /** @param topics how many there are, 0 being the most urgent one */
  constructor(concurrency: number, topics: number) {
    this.#concurrency = concurrency
    this.#limit = pLimit(concurrency)
    this.#turns = new Turns(topics)
    this.#preparing = Array.from({ length: topics }, () => new Set())
    this.#prepared = Array.from({ length: topics }, () => [])
  }

  /** Slots that are taken. */
  get taken(): number {
    return this.#taken
  }

  /** Requests that are no envelopes and hold a slot. */
  get underWay(): Iterable<{ what: string }> {
    return this.#underWay
  }

  /** Tells how many slots are free for a topic. */
  free(urgency: number): number {
    const free = this.#concurrency - this.taken
    if (urgency === 0 || this.#concurrency === 1) return free
    return Math.min(free, this.#concurrency - 1 - (this.taken - this.#urgent))
  }

  /** Tells whether a free one waits for an envelope that is being prepared, while others are there. */
  get isKept(): boolean {
    return this.#isKept
  }

  /** Envelopes of a topic that wait for a slot, or are going to. */
  ahead(urgency: number): number {
    return this.#preparing[urgency]!.size + this.#prepared[urgency]!.length
  }

  /** Tells whether envelopes wait for a slot. */
  get arePrepared(): boolean {
    return this.#prepared.some(flights => flights.length > 0)
  }

  /** The envelope is being prepared. */
  expect(flight: InFlight): void {
    this.#preparing[flight.urgency]!.add(flight)
  }

  /** The envelope that was expected waits for a slot; or it does not come. */
  arrive(flight: InFlight, isPrepared: boolean): void {
    this.#preparing[flight.urgency]!.delete(flight)
    if (!isPrepared) return
    flight.stage = 'prepared'
    this.#prepared[flight.urgency]!.push(flight)
  }

  /** A request that is no envelope. Resolves when it has had its slot. */
  request(what: string, send: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#requests.push({ what, send: () => this.#occupy(send, false).then(resolve, reject) })
    })
  }

  /** Takes out the envelopes that are not to be sent. */
  withdraw(isToStay: (flight: InFlight) => boolean): InFlight[] {
    const taken: InFlight[] = []
    for (const [urgency, flights] of this.#prepared.entries()) {
      const gone = flights.filter(flight => !isToStay(flight))
      if (gone.length === 0) continue
      taken.push(...gone)
      this.#prepared[urgency] = flights.filter(flight => !gone.includes(flight))
    }
    return taken
  }

  /**
   * Has whoever is next sent, if there is a slot.
   * @param isSoon whether a slot waits for an envelope that is being prepared, if that is the next by its turn
   * @returns whether anything was
   */
  next(send: (flight: InFlight) => void, isSoon: (flight: InFlight) => boolean): boolean {
    this.#isKept = false
    if (!this.#requestedLast && this.#nextRequest()) return true
    const flight = this.#nextPrepared(isSoon)
    if (!flight) return this.#nextRequest()
    this.#requestedLast = false
    send(flight)
    return true
  }

  /** Sends the envelope that is next. It holds a slot until what is called has resolved. */
  async hold<T>(flight: InFlight, send: () => Promise<T>): Promise<T> {
    flight.stage = 'sending'
    try {
      return await this.#occupy(send, flight.urgency === 0)
    } finally {
      flight.stage = 'finishing'
    }
  }

  /** Both counts change in one step: whoever looks between them would find the most urgent topic's slot free for others. */
  async #occupy<T>(send: () => Promise<T>, isUrgent: boolean): Promise<T> {
    this.#taken++
    if (isUrgent) this.#urgent++
    try {
      return await this.#limit(send)
    } finally {
      this.#taken--
      if (isUrgent) this.#urgent--
    }
  }

  #nextPrepared(isSoon: (flight: InFlight) => boolean): InFlight | undefined {
    let kept = 0
    for (const urgency of this.#turns.order()) {
      if (this.free(urgency) <= kept) continue
      const flight = this.#prepared[urgency]!.shift()
      if (flight) {
        this.#turns.left(urgency)
        return flight
      }
      const soon = [...this.#preparing[urgency]!].filter(isSoon).length
      kept += this.#turns.isDue(urgency) ? Math.min(1, soon) : soon
    }
    this.#isKept = kept > 0 && this.arePrepared
    return undefined
  }

  #nextRequest(): boolean {
    const request = this.free(1) > 0 ? this.#requests.shift() : undefined
    if (!request) return false
    this.#requestedLast = true
    this.#underWay.add(request)
    void request.send().then(() => this.#underWay.delete(request))
    return true
  }
}
