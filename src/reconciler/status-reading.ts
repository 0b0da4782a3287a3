import type { BusRecord, Follower, OnRecords } from '../bus/port.ts'
import { appendedBy } from '../bus/record-time.ts'
import type { Clock } from '../clock.ts'

export interface StatusReadingOptions {
  follow: (onRecords: OnRecords) => Promise<Follower>
  /** Whether a record of this time has to wait until the window has moved. */
  isTooFarAhead: (at: number) => boolean
  /** @param at time of the record, milliseconds since 1970 */
  take: (record: BusRecord, at: number) => Promise<void>
  clock: Clock
}

/** Reads one partition of the statuses as far as a window of time allows. */
export class StatusReading {
  readonly #options: StatusReadingOptions
  readonly #follower: Promise<Follower>
  /** Whether reading waits for the window. */
  #isHeld = false
  /** Called when the window moves, and on close. */
  #moved = () => {}
  /** Called when reading waits for the window, and on close. */
  #held = () => {}
  #closed = false

  constructor(options: StatusReadingOptions) {
    this.#options = options
    this.#follower = options.follow(records => this.#take(records))
    this.#follower.catch(() => {}) // it may reject before it is awaited
  }

  /**
   * Resolves at the end of the window or of the log, or when closed. @throws Error when the partition cannot be followed, or its
   * end cannot be looked up
   */
  async toTheEnd(): Promise<void> {
    const follower = await this.#follower
    if (this.#closed || this.#isHeld) return
    const { promise: held, resolve } = Promise.withResolvers<void>()
    this.#held = resolve
    await Promise.race([follower.caughtUp(), held])
  }

  /** Continues after the window has moved. */
  moved(): void {
    this.#isHeld = false
    this.#moved()
  }

  close(): void {
    this.#closed = true
    this.#moved()
    this.#held()
    void this.#follower.then(follower => follower.close()).catch(() => {})
  }

  async #take(records: readonly BusRecord[]): Promise<void> {
    const { clock, isTooFarAhead, take } = this.#options
    for (const record of records) {
      const at = appendedBy(record.timestamp, clock.now()) // the writer's clock may be ahead
      while (!this.#closed && isTooFarAhead(at)) await this.#wait()
      if (this.#closed) return
      await take(record, at)
    }
  }

  async #wait(): Promise<void> {
    this.#isHeld = true
    this.#held()
    await new Promise<void>(resolve => {
      this.#moved = resolve
    })
  }
}
